import type { PartialHandlers } from '../api/handler.js';
import type { NetworkContext } from './context.js';
import { discoveryDocument, keySet, MAX_AGE_SECONDS } from './identity/documents.js';
import {
  createSecret,
  deleteSecret,
  findSecret,
  listSecrets,
  secretToWire,
  updateSecret,
} from './secrets/records.js';

const publicly = { 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` };

/** Identity documents and secrets. */
export const networkHandlers = {
  getOpenidConfiguration: ({ context }) => ({
    status: 200,
    headers: publicly,
    body: discoveryDocument(context.config),
  }),

  getJwks: async ({ context }) => ({
    status: 200,
    headers: publicly,
    body: keySet(await context.identity.published()),
  }),

  createSecret: async ({ context, team, body }) => ({
    status: 201,
    body: await createSecret(context, team, body),
  }),
  listSecrets: async ({ context, team, query }) => ({
    status: 200,
    ...(await listSecrets(context.db, team.id, query)),
  }),
  getSecret: async ({ context, team, params }) => ({
    status: 200,
    body: secretToWire(await findSecret(context.db, team.id, params.secretID)),
  }),
  updateSecret: async ({ context, team, params, body }) => ({
    status: 200,
    body: await updateSecret(context, team.id, params.secretID, body),
  }),
  deleteSecret: async ({ context, team, params }) => {
    await deleteSecret(context.db, team.id, params.secretID);
    return { status: 204 };
  },
} satisfies PartialHandlers<NetworkContext>;

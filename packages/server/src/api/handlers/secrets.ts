import { createSecret } from '../../secrets/create.js';
import { deleteSecret } from '../../secrets/delete.js';
import { findSecret } from '../../secrets/find.js';
import { listSecrets } from '../../secrets/list.js';
import { updateSecret } from '../../secrets/update.js';
import { secretToWire } from '../../secrets/wire.js';
import type { PartialHandlers } from '../handler.js';

export const secretHandlers = {
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
} satisfies PartialHandlers;

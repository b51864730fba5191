import type { PartialHandlers } from '../api/handler.js';
import { createApiKey, deleteApiKey, listApiKeys, newKeyFromWire } from './api-keys.js';
import { teamToWire } from './wire.js';

export const teamHandlers = {
  getTeam: ({ team }) => ({ status: 200, body: teamToWire(team) }),
  listApiKeys: async ({ context, team }) => ({ status: 200, body: await listApiKeys(context, team.id) }),
  createApiKey: async ({ context, team, body }) => ({
    status: 201,
    headers: { 'Cache-Control': 'no-store' },
    body: await createApiKey(context, team.id, newKeyFromWire(body)),
  }),
  deleteApiKey: async ({ context, team, params }) => {
    await deleteApiKey(context, team.id, params.apiKeyID);
    return { status: 204 };
  },
} satisfies PartialHandlers;

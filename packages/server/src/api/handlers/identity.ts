import { discoveryDocument, keySet, MAX_AGE_SECONDS } from '../../identity/documents.js';
import type { PartialHandlers } from '../handler.js';

const headers = { 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` };

export const identityHandlers = {
  getOpenidConfiguration: ({ context }) => ({
    status: 200,
    headers,
    body: discoveryDocument(context.config),
  }),

  getJwks: async ({ context }) => ({
    status: 200,
    headers,
    body: keySet(await context.identity.published()),
  }),
} satisfies PartialHandlers;

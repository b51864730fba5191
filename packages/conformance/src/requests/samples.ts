import { randomBytes } from 'node:crypto';
import type { CallOptions } from '../wire/call.js';

/** Identifiers that look right and belong to nothing. */
export const unknownIds = {
  sandboxID: 'i00000000000000000000',
  templateID: '00000000000000000000',
  buildID: '00000000-0000-4000-8000-000000000000',
  secretID: 'nobody-has-this-secret',
  volumeID: '00000000-0000-4000-8000-000000000000',
  webhookID: '00000000-0000-4000-8000-000000000000',
  eventID: '00000000-0000-4000-8000-000000000000',
  apiKeyID: '00000000-0000-4000-8000-000000000000',
  alias: 'nobody-has-this-alias',
  hash: 'a'.repeat(64),
  token: 'not-a-token',
} as const;

/** A text that nobody used before. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

export const SIGNATURE_SECRET = 'a signature secret of at least 32 characters';

/** A body that fits the document, for each operation that takes one. */
const BODIES: Record<string, () => unknown> = {
  createSandbox: () => ({ templateID: 'base', timeout: 30 }),
  createSandboxV2: () => ({ templateID: 'base', timeout: 30 }),
  pauseSandbox: () => ({ memory: true }),
  resumeSandbox: () => ({ timeout: 30 }),
  connectSandbox: () => ({ timeout: 30 }),
  connectSandboxV2: () => ({ timeout: 30 }),
  setSandboxTimeout: () => ({ timeout: 30 }),
  refreshSandbox: () => ({ duration: 30 }),
  forkSandbox: () => ({ timeout: 30, count: 1 }),
  updateSandboxNetwork: () => ({}),
  createSnapshot: () => ({}),
  createTemplate: () => ({ name: unique('template') }),
  updateTemplate: () => ({ public: false }),
  updateTemplateV2: () => ({ public: false }),
  assignTemplateTags: () => ({ target: unknownIds.alias, tags: ['one'] }),
  deleteTemplateTags: () => ({ name: unknownIds.alias, tags: ['one'] }),
  startTemplateBuild: () => ({ fromTemplate: 'base' }),
  createSecret: () => ({ name: unique('secret'), value: 'a value' }),
  updateSecret: () => ({ value: 'another value' }),
  createVolume: () => ({ name: unique('volume') }),
  createWebhook: () => ({
    name: 'hook',
    url: 'https://example.invalid/hook',
    events: ['sandbox.lifecycle.created'],
    signatureSecret: SIGNATURE_SECRET,
  }),
  updateWebhook: () => ({ name: 'hook' }),
  createApiKey: () => ({ name: 'key' }),
  uploadTemplateFiles: () => Buffer.from('not an archive'),
};

const QUERIES: Record<string, CallOptions['query']> = {
  listSandboxesMetrics: { sandbox_ids: unknownIds.sandboxID },
};

/** A request that fits the document and names nothing that exists. */
export function sampleRequest(operationId: string): CallOptions {
  const body = BODIES[operationId];
  const query = QUERIES[operationId];
  return {
    path: unknownIds,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: body() }),
  };
}

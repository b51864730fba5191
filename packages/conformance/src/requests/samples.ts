import { randomBytes } from 'node:crypto';
import type { CallOptions } from '../wire/call.js';
import { platform } from '../wire/documents.js';

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

const QUERIES: Record<string, CallOptions['query']> = {
  listSandboxesMetrics: { sandbox_ids: unknownIds.sandboxID },
};

/** A request that fits the document and names nothing that exists. */
export function sampleRequest(operationId: string): CallOptions {
  const query = QUERIES[operationId];
  // Operations of the other documents have no samples.
  const { sampleBody: body, bodyTypes = [] } = platform.operations.get(operationId) ?? {};
  return {
    path: unknownIds,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: bodyOf(body, bodyTypes) }),
  };
}

/** Fills in what has to be new, and gives a file as bytes. */
function bodyOf(sample: unknown, types: readonly string[]): unknown {
  if (!types.includes('application/json')) return Buffer.from(String(sample));
  return JSON.parse(JSON.stringify(sample).replaceAll('{unique}', randomBytes(6).toString('hex')));
}

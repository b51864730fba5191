import type { IncomingMessage } from 'node:http';
import { HttpFailure } from './http-failure.js';

const MAX_BODY_BYTES = 4 * 1024 * 1024;

export interface ComposeRequest {
  sources: string[];
  destination: string;
  username: string | undefined;
}

/** Reads the body of a compose call. @wire ComposeFilesRequest @throws HttpFailure 400, 413. */
export async function readComposeRequest(request: IncomingMessage): Promise<ComposeRequest> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new HttpFailure(413, `the body is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new HttpFailure(400, 'the body is not JSON');
  }
  return checkBody(body);
}

function checkBody(body: unknown): ComposeRequest {
  if (typeof body !== 'object' || body === null) throw new HttpFailure(400, 'the body is not an object');
  const { source_paths: sources, destination, username } = body as Record<string, unknown>;
  if (!Array.isArray(sources) || !sources.every((path) => typeof path === 'string' && path !== '')) {
    throw new HttpFailure(400, 'source_paths is not a list of paths');
  }
  if (typeof destination !== 'string' || destination === '')
    throw new HttpFailure(400, 'destination is missing');
  if (username !== undefined && username !== null && typeof username !== 'string') {
    throw new HttpFailure(400, 'username is not a string');
  }
  return { sources, destination, username: username || undefined };
}

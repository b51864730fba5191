import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { InvalidRequestError } from '../errors/answer-errors.js';

/** Options of a URL for others. */
export interface SignedUrlOptions {
  /** Time that the URL works, ms from now, rounded up to whole seconds. Default: as long as the sandbox's token. */
  expiresInMs?: number | undefined;
  /** User to whom an uploaded file will belong, and in whose home relative paths start. Default: the sandbox's default user. */
  user?: string | undefined;
}

export async function signedUrl(
  connection: DaemonConnection,
  operation: 'read' | 'write',
  path: string | undefined,
  options: SignedUrlOptions,
): Promise<string> {
  const { expiresInMs, user } = options;
  if (expiresInMs !== undefined && !(expiresInMs >= 0)) {
    throw new InvalidRequestError(`expiresInMs must be at least 0, got ${expiresInMs}.`);
  }
  const expiration = expiresInMs === undefined ? undefined : Math.ceil((Date.now() + expiresInMs) / 1000);
  const url = new URL('/files', connection.directUrl);
  if (path !== undefined) url.searchParams.set('path', path);
  if (user !== undefined) url.searchParams.set('username', user);
  const { accessToken } = connection.target;
  if (accessToken === undefined) return url.href;
  const { signFilePath } = await import('@svc/daemon');
  const signature = await signFilePath({ path: path ?? '', operation, accessToken, user, expiration });
  url.searchParams.set('signature', signature);
  if (expiration !== undefined) url.searchParams.set('signature_expiration', String(expiration));
  return url.href;
}

export interface FileSignatureOptions {
  /** The `path` query value exactly as it will be sent; empty when it is not. */
  path: string;
  /** `read` for GET /files, `write` for POST /files. */
  operation: 'read' | 'write';
  /** The sandbox's access token. */
  accessToken: string;
  /** The `username` query value; leave it out when it is not sent. */
  user?: string | undefined;
  /** The `signature_expiration` query value, Unix time in seconds; leave it out when it is not sent. */
  expiration?: number | undefined;
}

/**
 * Signs a /files URL, so that it works without the access token. The result is the `signature` query value.
 *
 * @wire readFile, writeFiles
 */
export async function signFilePath(options: FileSignatureOptions): Promise<string> {
  const { path, operation, accessToken, user = '', expiration } = options;
  const parts = [path, operation, user, accessToken];
  if (expiration !== undefined) parts.push(String(expiration));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(parts.join(':')));
  return `v1_${btoa(String.fromCharCode(...new Uint8Array(digest))).replace(/=+$/, '')}`;
}

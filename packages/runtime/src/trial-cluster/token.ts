import { IncusError } from '../incus/incus-error.js';

/** A token that lets a machine join a cluster once. */
export interface JoinToken {
  /** Name that the machine will have. */
  serverName: string;
  /** SHA-256 of the cluster's certificate, hexadecimal. */
  fingerprint: string;
  /** `host:port` of members. */
  addresses: string[];
  secret: string;
  expiresAt: string;
}

/** As `incus cluster add` prints it. Pure. */
export function formatToken(token: JoinToken): string {
  const { serverName, fingerprint, addresses, secret, expiresAt } = token;
  const wire = { server_name: serverName, fingerprint, addresses, secret, expires_at: expiresAt };
  return Buffer.from(JSON.stringify(wire)).toString('base64');
}

/** Pure. @throws {IncusError} for what is no such token. */
export function parseToken(text: string): JoinToken {
  try {
    const wire = JSON.parse(Buffer.from(text.trim(), 'base64').toString('utf8')) as Record<string, unknown>;
    const { server_name: serverName, fingerprint, addresses, secret, expires_at: expiresAt } = wire;
    const strings = [serverName, fingerprint, secret];
    const listed =
      Array.isArray(addresses) && addresses.length > 0 && addresses.every((each) => typeof each === 'string');
    if (!listed || strings.some((each) => typeof each !== 'string' || each === ''))
      throw new Error('a field is missing');
    return {
      serverName: String(serverName),
      fingerprint: String(fingerprint),
      addresses,
      secret: String(secret),
      expiresAt: String(expiresAt ?? ''),
    };
  } catch (cause) {
    throw new IncusError(
      0,
      'This is no join token: `incus cluster add NAME` on a member of the cluster prints one.',
      { cause },
    );
  }
}

import { createHmac } from 'node:crypto';
import { sameSecret } from './secrets.js';

/** The port that a preview link opens. */
export interface LinkScope {
  sandboxId: string;
  port: number;
  /** Token of the sandbox's private ports. Links are signed with it; it is in none of them. */
  trafficToken: string;
}

/** A valid link. */
export interface PreviewLink {
  /** The text in the address: version, expiry, signature. */
  value: string;
  /** Seconds since 1970. */
  expiresAt: number;
}

/** Version, expiry in seconds, HMAC-SHA-256 as base64url. */
const form = /^v1\.(\d{1,12})\.([\w-]{43})$/;

/**
 * Reads a preview link: undefined when it is not one, has expired, was altered, or is for another port or sandbox. Which
 * of them is not told.
 */
export function readPreviewLink(value: string, scope: LinkScope, nowMs: number): PreviewLink | undefined {
  const [, expiry, given] = form.exec(value) ?? [];
  if (expiry === undefined) return undefined;
  const signed = `v1\n${scope.sandboxId}\n${scope.port}\n${expiry}`;
  const expected = createHmac('sha256', scope.trafficToken).update(signed).digest('base64url');
  const expiresAt = Number(expiry);
  return sameSecret(given, expected) && expiresAt * 1000 > nowMs ? { value, expiresAt } : undefined;
}

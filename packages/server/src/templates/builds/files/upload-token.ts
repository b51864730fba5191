import { timingSafeEqual } from 'node:crypto';
import { errors } from '../../../api/errors/catalog.js';
import type { KeyRing } from '../../../storage/keys/key-ring.js';

/** The claims of an upload link. */
export interface UploadGrant {
  templateId: string;
  hash: string;
  /** ms since the epoch. */
  expiresAtMs: number;
}

const PURPOSE = 'build-upload';

/** The credential in an upload link: readable, but not to be forged. */
export function signUpload(keys: KeyRing, grant: UploadGrant): string {
  const payload = Buffer.from(JSON.stringify([grant.templateId, grant.hash, grant.expiresAtMs])).toString(
    'base64url',
  );
  return `${payload}.${keys.sign(PURPOSE, payload)}`;
}

/** @throws {ApiError} 403 when it is malformed, forged or expired, without the difference */
export function verifyUpload(keys: KeyRing, token: string, nowMs: number): UploadGrant {
  const [payload = '', signature = '', ...rest] = token.split('.');
  const expected = Buffer.from(keys.sign(PURPOSE, payload));
  const given = Buffer.from(signature);
  if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
    throw errors.uploadRefused();
  // Signed by us: it has the form that we gave it.
  const [templateId, hash, expiresAtMs] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
    string,
    string,
    number,
  ];
  if (expiresAtMs <= nowMs) throw errors.uploadRefused();
  return { templateId, hash, expiresAtMs };
}

import { timingSafeEqual } from 'node:crypto';
import type { KeyRing } from '../../storage/keys/key-ring.js';

/** Unlike that of API keys, so that one is never taken for the other. */
const PREFIX = 'svcact_';

/** Longest age of a credential, ms: the clocks of nodes may differ by this much. */
const VALID_MS = 60_000;

/** The one request that a credential is for. */
export interface ActingRequest {
  method: string;
  /** Path with query. */
  url: string;
}

/**
 * Issues the credential that replaces an API key when the operator acts for a team: good for one request, for a minute, on every
 * node that shares the server key. Made in memory, sent to no client.
 */
export function issueActingCredential(
  keys: KeyRing,
  teamId: string,
  request: ActingRequest,
  nowMs: number,
): string {
  return `${PREFIX}${teamId}.${nowMs}.${macOf(keys, teamId, request, nowMs)}`;
}

/** Returns whether a header claims to carry such a credential, valid or not. */
export function isActingCredential(header: string): boolean {
  return header.startsWith(PREFIX);
}

/** The team that the operator acts for; undefined: the credential was not made by this server key, for this request, just now. */
export function readActingCredential(
  keys: KeyRing,
  header: string,
  request: ActingRequest,
  nowMs: number,
): string | undefined {
  const [teamId = '', time = '', mac = '', ...more] = header.slice(PREFIX.length).split('.');
  if (!isActingCredential(header) || more.length > 0 || !/^\d{1,15}$/.test(time)) return undefined;
  if (Math.abs(nowMs - Number(time)) > VALID_MS) return undefined;
  const wanted = Buffer.from(macOf(keys, teamId, request, Number(time)));
  const given = Buffer.from(mac);
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? teamId : undefined;
}

function macOf(keys: KeyRing, teamId: string, { method, url }: ActingRequest, timeMs: number): string {
  return keys.sign('acting-credential', JSON.stringify([teamId, timeMs, method, url]));
}

import type { VolumeCreateOptions, VolumeOwnership } from '@svc/runtime/contract';
import { volumeErrors } from './error.js';

type Query = Record<string, unknown>;

const MAX_ID = 0xffff_ffff;
const MAX_MODE = 0o7777;

/** @throws {VolumeContentError} invalid_request */
export function readPath(query: Query): string {
  const { path } = query;
  if (typeof path !== 'string' || path === '') throw volumeErrors.invalidRequest('path is required');
  return path;
}

export function readDepth(query: Query): number {
  return readInteger('depth', query.depth, Number.MAX_SAFE_INTEGER) ?? 1;
}

export function readCreateQuery(query: Query): VolumeCreateOptions {
  const { force } = query;
  if (force !== undefined && force !== 'true' && force !== 'false')
    throw volumeErrors.invalidRequest('force must be true or false');
  return {
    uid: readInteger('uid', query.uid, MAX_ID),
    gid: readInteger('gid', query.gid, MAX_ID),
    mode: readInteger('mode', query.mode, MAX_MODE),
    force: force === 'true',
  };
}

/** Checks the body of a change of facts. */
export function readChange(body: unknown): VolumeOwnership {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw volumeErrors.invalidRequest('the body must be an object');
  const { uid, gid, mode } = body as Query;
  for (const [name, value] of Object.entries({ uid, gid, mode }))
    if (value !== undefined && typeof value !== 'number')
      throw volumeErrors.invalidRequest(`${name} must be a number`);
  return {
    uid: readInteger('uid', uid, MAX_ID),
    gid: readInteger('gid', gid, MAX_ID),
    mode: readInteger('mode', mode, MAX_MODE),
  };
}

function readInteger(name: string, value: unknown, max: number): number | undefined {
  if (value === undefined) return undefined;
  const number =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && /^\d{1,10}$/.test(value)
        ? Number(value)
        : -1;
  if (!Number.isInteger(number) || number < 0 || number > max)
    throw volumeErrors.invalidRequest(`${name} must be a whole number between 0 and ${max}`);
  return number;
}

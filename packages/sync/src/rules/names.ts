import { randomBytes } from 'node:crypto';

/** Prefix of every name that a synchronization makes for itself, on either side. Such names are never synchronized. */
export const ownPrefix = '.svc-sync-';

/** A name that nothing else has, for what is not in its place yet. */
export function draftName(): string {
  return `${ownPrefix}${randomBytes(8).toString('hex')}`;
}

/** Returns true for one of those names. */
export function isDraftName(name: string): boolean {
  return name.startsWith(ownPrefix) && /^[0-9a-f]{16}$/.test(name.slice(ownPrefix.length));
}

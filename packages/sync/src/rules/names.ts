import { randomBytes } from 'node:crypto';

/** What every name starts with that a synchronization makes for itself, on either side. It is never synchronized. */
export const ownPrefix = '.svc-sync-';

/** A name that nothing else has, for what is not in its place yet. */
export function draftName(): string {
  return `${ownPrefix}${randomBytes(8).toString('hex')}`;
}

/** Whether a name is one of those. */
export function isDraftName(name: string): boolean {
  return name.startsWith(ownPrefix) && /^[0-9a-f]{16}$/.test(name.slice(ownPrefix.length));
}

import type { Stats } from 'node:fs';
import { formatPermissions } from '../filesystem/permissions.js';
import type { OwnerNames } from '../users/index.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A line of a listing, as `ls -l` has it, which clients show as it is. Pure. */
export function longName(name: Buffer, stats: Stats, names: OwnerNames): Buffer {
  const { mtime } = stats;
  const day = `${MONTHS[mtime.getUTCMonth()]} ${String(mtime.getUTCDate()).padStart(2)}`;
  const permissions = formatPermissions(stats.mode).replace(/^L/, 'l');
  const facts = [
    permissions,
    String(stats.nlink).padStart(4),
    names.user(stats.uid).padEnd(8),
    names.group(stats.gid).padEnd(8),
    String(stats.size).padStart(8),
    day,
    String(mtime.getUTCFullYear()).padStart(5),
  ];
  return Buffer.concat([Buffer.from(`${facts.join(' ')} `), name]);
}

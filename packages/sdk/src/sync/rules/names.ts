import { randomBytes } from 'node:crypto';
import { ancestorsOf } from '../plan/tree.js';

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

const longestName = 255;
const longestPath = 4_000;

/** Why a path that a side names cannot be used below a root; undefined when it can. */
export function pathProblem(path: string, platform: string = process.platform): string | undefined {
  if (path.length > longestPath) return 'the path is too long';
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..' || part.includes('\0'))
      return 'the path leads elsewhere';
    if (part.includes('\ufffd')) return 'the name is not UTF-8';
    if (Buffer.byteLength(part) > longestName) return 'the name is too long';
    if (platform === 'win32' && isForbiddenOnWindows(part)) return 'Windows does not allow the name';
  }
  return undefined;
}

function isForbiddenOnWindows(name: string): boolean {
  return /[<>:"|?*\\\u0000-\u001f]|[. ]$/.test(name) || /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name);
}

/**
 * Why a link is not taken over; undefined when it stays inside the root, however it is followed. `..` counts at the
 * start alone: behind a name it would start from wherever that name leads, which need not be where it seems.
 */
export function linkProblem(
  path: string,
  target: string,
  platform: string = process.platform,
): string | undefined {
  if (target === '' || target.length > longestPath || target.includes('\0') || target.includes('\ufffd'))
    return 'the target of the link cannot be used';
  if (target.startsWith('/') || (platform === 'win32' && /[\\:]/.test(target))) return 'the link is absolute';
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const named = parts.findIndex((part) => part !== '..');
  const ups = named === -1 ? parts.length : named;
  if (ups > ancestorsOf(path).length) return 'the link leads out of the directory';
  if (parts.slice(ups).includes('..')) return 'the link has .. behind a name';
  return undefined;
}

/**
 * Rules for trees that a sandbox describes or sends. It may say anything: what comes to this machine gets neither a
 * place outside the directory that was asked for, nor a right or a program that its user did not ask for.
 */

const longestName = 255;
const longestPath = 4_000;

/** Why a path that a sandbox names cannot be used below a root; undefined when it can. */
export function pathProblem(path: string, platform: string = process.platform): string | undefined {
  if (path.length > longestPath) return 'the path is too long';
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..' || part.includes('\0'))
      return 'the path leads out of the directory';
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
  if (ups > path.split('/').length - 1) return 'the link leads out of the directory';
  if (parts.slice(ups).includes('..')) return 'the link has .. behind a name';
  return undefined;
}

/** Names of what version control keeps beside the files: hooks and settings in it make programs run here. */
export const versionControlNames: readonly string[] = ['.git', '.hg', '.svn', '.jj'];

/** Returns true for one of those names in the eyes of any file system: some ignore case, or characters that cannot be seen. */
export function isVersionControl(name: string): boolean {
  const seen = name.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '').toLowerCase();
  return versionControlNames.includes(seen) || /^git~\d+$/.test(seen);
}

/**
 * The mode that a file or directory of a sandbox has here at most; the process' umask takes its part away too. Nobody
 * but its owner may write it, and nobody becomes its owner by running it.
 */
export function takenMode(mode: number): number {
  return mode & 0o755;
}

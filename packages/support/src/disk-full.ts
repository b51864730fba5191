/** Returns true when a system call failed because the disk, or the owner's share of it, is used up. */
export function isDiskFull(error: unknown): boolean {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown };
  // Node has no name for a quota that is used up (EDQUOT).
  return code === 'ENOSPC' || code === 'EDQUOT' || errno === -122;
}

/** The same by what a program printed, in the C locale or not. */
export function saysDiskFull(stderr: string): boolean {
  return /no space left|disk quota/i.test(stderr);
}

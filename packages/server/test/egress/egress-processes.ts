import { readFileSync } from 'node:fs';

/** Egress processes that a process started, itself or through others. */
export function egressProcesses(pid: number): number[] {
  return descendants(pid).filter((each) => {
    try {
      return readFileSync(`/proc/${each}/cmdline`, 'latin1').startsWith('/agent/lib/loader\0');
    } catch {
      return false;
    }
  });
}

function descendants(pid: number): number[] {
  let children = '';
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    // It ended meanwhile.
  }
  return children
    .split(' ')
    .filter(Boolean)
    .flatMap((child) => [Number(child), ...descendants(Number(child))]);
}

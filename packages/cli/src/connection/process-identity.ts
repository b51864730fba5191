import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * When a process started, as text that only serves comparison: with its pid it tells a process from a later one that got
 * the same pid. Undefined when there is none, or only a zombie is left.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') {
    const line = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => undefined);
    return line?.stdout.trim() || undefined;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The program's name, in brackets, may itself hold blanks and brackets.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === undefined || state === '' || state === 'Z' || state === 'X' ? undefined : fields[18];
}

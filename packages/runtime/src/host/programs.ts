import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { runProgram } from '../shared/run-program.js';
import { TOOL_PATH } from '../shared/script-environment.js';

/** CRIU restores on current kernels from here on. */
export const CRIU_MINIMUM = '4.2';

/** Where the private CRIU is unless the options say otherwise. */
export function criuDirectory(options: { criuDirectory?: string | undefined }): string {
  return options.criuDirectory ?? process.env.SVC_CRIU_DIR ?? '/var/lib/svc/criu';
}

/** Where the private gVisor runtime is unless the options say otherwise. */
export function runscDirectory(options: { runscDirectory?: string | undefined }): string {
  return options.runscDirectory ?? process.env.SVC_RUNSC_DIR ?? '/var/lib/svc/runsc';
}

/** Path of a program of the host, by its name or an absolute path. The PATH of a service may be without sbin. */
export function findProgram(name: string): string | undefined {
  const directories = `${process.env.PATH ?? ''}${delimiter}${TOOL_PATH}`.split(delimiter);
  const candidates = isAbsolute(name)
    ? [name]
    : directories.filter((directory) => directory !== '').map((directory) => join(directory, name));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Version of the private CRIU. The host's own does not count: replacing it would disturb others. */
export async function versionOfCriu(directory: string): Promise<string | undefined> {
  const program = findProgram(join(directory, 'criu'));
  if (program === undefined) return undefined;
  const { stdout } = await runProgram(program, ['--version'], { timeoutMs: 10_000 });
  return /^Version:\s*([\d.]+)/m.exec(stdout)?.[1];
}

/** Version of the private gVisor runtime. The host's own does not count: many builds cannot fork. */
export async function versionOfRunsc(directory: string): Promise<string | undefined> {
  const program = findProgram(join(directory, 'runsc'));
  if (program === undefined) return undefined;
  const { stdout } = await runProgram(program, ['--version'], { timeoutMs: 10_000 });
  return /^runsc version (\S+)/m.exec(stdout)?.[1];
}

/** Returns true if a CRIU of this version can store memory. */
export function suffices(criuVersion: string | undefined): boolean {
  return criuVersion !== undefined && compareVersions(criuVersion, CRIU_MINIMUM) >= 0;
}

/** Negative when `a` is the older one. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

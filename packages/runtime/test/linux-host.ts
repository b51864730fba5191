import { criuDirectory, missingForLinux, versionOfCriu } from '../src/host/tools.js';

/** Why tests of the linux driver cannot run here. Undefined: they can. */
export function linuxSkipReason(): string | undefined {
  const missing = missingForLinux({});
  if (missing.length === 0) return undefined;
  console.warn(`Tests of the linux driver are skipped. ${missing.join(' ')}`);
  return missing.join(' ');
}

/** The same for tests of memory. */
export async function memorySkipReason(): Promise<string | undefined> {
  const reason = linuxSkipReason();
  if (reason !== undefined) return reason;
  if ((await versionOfCriu(criuDirectory({}))) !== undefined) return undefined;
  const missing = 'The private CRIU is missing (scripts/prepare-host.sh --criu).';
  console.warn(`Tests of memory are skipped. ${missing}`);
  return missing;
}

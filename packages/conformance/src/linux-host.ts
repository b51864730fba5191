import { tmpdir } from 'node:os';
import { checkHost, linuxDriverCanRun } from '@svc/runtime';

/** Why the linux driver cannot run here; undefined when it can. */
export async function linuxLacks(): Promise<string | undefined> {
  const findings = await checkHost({ dataDir: tmpdir() });
  if (linuxDriverCanRun(findings)) return undefined;
  return findings
    .filter(({ ok }) => !ok)
    .map(({ message }) => message)
    .join(' ');
}

import { tmpdir } from 'node:os';
import { checkHost, type HostOptions, linuxDriverCanRun } from '@svc/runtime/host';

/** Why the linux driver cannot run here; undefined when it can. */
export async function linuxLacks(options: Pick<HostOptions, 'isolation'> = {}): Promise<string | undefined> {
  const findings = await checkHost({ dataDir: tmpdir(), ...options });
  if (linuxDriverCanRun(findings)) return undefined;
  return findings
    .filter(({ ok }) => !ok)
    .map(({ message }) => message)
    .join(' ');
}

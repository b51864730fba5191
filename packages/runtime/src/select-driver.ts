import type { Driver, DriverOptions } from './contract/driver.js';
import { DriverError } from './contract/errors.js';
import { checkHost } from './host/check-host.js';
import { type Finding, linuxDriverCanRun } from './host/finding.js';
import type { LinuxDriverOptions } from './linux-driver/state/options.js';

/** What `driver` may be in settings and flags, the one that isolates first. */
export const driverNames = ['linux', 'process'] as const;
export type DriverName = (typeof driverNames)[number];

export interface SelectDriverOptions extends DriverOptions {
  /** `linux` or `process`; absent: the best that the host can do. */
  preferred?: DriverName | undefined;
  /** Whether `process`, which isolates nothing, may be taken without being asked for by name. Default false. */
  allowProcess?: boolean | undefined;
  /** Further options of the `linux` driver. */
  linux?: Omit<LinuxDriverOptions, keyof DriverOptions>;
}

export interface SelectedDriver {
  driver: Driver;
  /** Why this one; one sentence for the operator. */
  why: string;
}

/**
 * Opens the driver to use on this host. Never gives less isolation than was asked for.
 * @throws {DriverError} `unsupported` with what lacks and the commands that get it; `busy` while another driver has the
 * data directory.
 */
export async function selectDriver(options: SelectDriverOptions): Promise<SelectedDriver> {
  const { preferred, allowProcess, linux, ...common } = options;
  if (preferred === 'process') return openProcess(common, 'It was asked for.');
  const findings = await checkHost({
    dataDir: common.dataDir,
    ...(linux?.ociRuntime === undefined ? {} : { ociRuntime: linux.ociRuntime }),
    ...(linux?.criuDirectory === undefined ? {} : { criuDirectory: linux.criuDirectory }),
  });
  if (linuxDriverCanRun(findings)) {
    const { createLinuxDriver } = await import('./linux-driver/index.js');
    const driver = await createLinuxDriver({ ...common, ...linux });
    const lacks = findings.filter(({ ok }) => !ok).map(({ message }) => message);
    const why = preferred === 'linux' ? 'It was asked for.' : 'The host has all that it needs.';
    return { driver, why: [why, ...lacks].join(' ') };
  }
  if (preferred === undefined && allowProcess === true) {
    return openProcess(common, `The linux driver cannot run here. ${lacking(findings).join(' ')}`);
  }
  throw new DriverError('unsupported', explain(findings));
}

async function openProcess(options: DriverOptions, why: string): Promise<SelectedDriver> {
  const { createProcessDriver } = await import('./process-driver/index.js');
  return { driver: await createProcessDriver(options), why };
}

/** What the operator reads when the host cannot run the `linux` driver. */
export function explain(findings: readonly Finding[]): string {
  return [
    'This host cannot run isolated sandboxes:',
    ...lacking(findings).map((line) => `  - ${line}`),
    '`svc server doctor --fix` gets what it may. `--driver process` runs sandboxes as plain processes instead, with NO ISOLATION.',
  ].join('\n');
}

function lacking(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ ok, neededFor }) => !ok && neededFor === 'driver')
    .map(({ message, fix }) => (fix === undefined ? message : `${message} Run: ${fix}`));
}

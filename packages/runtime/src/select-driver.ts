import type { Driver, DriverOptions } from './contract/driver.js';
import { DriverError } from './contract/errors.js';
import { type Finding, lacking, linuxDriverCanRun } from './host/finding.js';
import { readHostFacts, TESTED_RUNTIMES } from './host/host-facts.js';
import { judgeHost } from './host/judge-host.js';
import type { LinuxDriverOptions } from './linux-driver/state/options.js';
import { randomId } from './shared/instance-id.js';

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
  /** What the host has and lacks for the `linux` driver. Empty for a `process` driver that was asked for. */
  findings: Finding[];
}

/**
 * Opens the driver to use on this host. Never gives less isolation than was asked for.
 * @throws {DriverError} `unsupported` with what lacks and the commands that get it; `busy` while another driver has the
 * data directory.
 */
export async function selectDriver(options: SelectDriverOptions): Promise<SelectedDriver> {
  const { preferred, allowProcess, linux, ...common } = options;
  if (preferred === 'process') return openProcess(common, [], 'It was asked for.');
  const facts = await readHostFacts({
    dataDir: common.dataDir,
    ...(linux?.ociRuntime === undefined ? {} : { ociRuntime: linux.ociRuntime }),
    ...(linux?.baseRoot === undefined ? {} : { baseRoot: linux.baseRoot }),
    ...(linux?.criuDirectory === undefined ? {} : { criuDirectory: linux.criuDirectory }),
  });
  const findings = judgeHost(facts);
  if (linuxDriverCanRun(findings)) {
    const { createLinuxDriver } = await import('./linux-driver/index.js');
    const driver = await createLinuxDriver({ ...common, ...linux }, facts);
    if (!TESTED_RUNTIMES.some((name) => name === facts.ociRuntime))
      await requireStart(driver, facts.ociRuntime);
    const lacks = findings.filter(({ ok }) => !ok).map(({ message }) => message);
    const why = preferred === 'linux' ? 'It was asked for.' : 'The host has all that it needs.';
    return { driver, findings, why: [why, ...lacks].join(' ') };
  }
  if (preferred === undefined && allowProcess === true) {
    return openProcess(common, findings, `The linux driver cannot run here. ${lacking(findings).join(' ')}`);
  }
  throw new DriverError('unsupported', explain(findings));
}

/**
 * A runtime that nobody tested may be there and start nothing: better to hear of it now than at every create.
 * @throws {DriverError} `unsupported`; the driver is closed then.
 */
async function requireStart(driver: Driver, ociRuntime: string): Promise<void> {
  const spec = { layers: [], limits: {}, network: { egress: 'none' }, mounts: [], labels: {} } as const;
  try {
    const instance = await driver.create({ id: randomId(), spec: { ...spec, layers: [], mounts: [] } });
    await instance.destroy();
  } catch (error) {
    // A full host says nothing about the runtime.
    if (DriverError.is(error) && ['no_capacity', 'storage_full'].includes(error.code)) return;
    // What runs from before may go on: only this runtime is refused.
    await driver.close();
    const detail = DriverError.is(error) ? error.detail : undefined;
    throw new DriverError('unsupported', `The OCI runtime ${ociRuntime} starts no sandbox: choose runc.`, {
      cause: error,
      detail,
    });
  }
}

async function openProcess(
  options: DriverOptions,
  findings: Finding[],
  why: string,
): Promise<SelectedDriver> {
  const { createProcessDriver } = await import('./process-driver/index.js');
  return { driver: await createProcessDriver(options), findings, why };
}

/** What the operator reads when the host cannot run the `linux` driver. */
export function explain(findings: readonly Finding[]): string {
  return [
    'This host cannot run isolated sandboxes:',
    ...lacking(findings).map((line) => `  - ${line}`),
    '`svc server doctor --fix` gets what it may. `--driver process` runs sandboxes as plain processes instead, with NO ISOLATION.',
  ].join('\n');
}

import type { Isolation } from './contract/capabilities.js';
import type { Driver, DriverOptions } from './contract/driver.js';
import { DriverError } from './contract/errors.js';
import { findIncus } from './find-incus.js';
import { describeMissing, type Finding, linuxDriverCanRun } from './host/finding.js';
import { type HostFacts, readHostFacts, TESTED_RUNTIMES } from './host/host-facts.js';
import { judgeHost } from './host/judge-host.js';
import type { IncusDriverOptions } from './incus-driver/options.js';
import type { LinuxDriverOptions } from './linux-driver/state/options.js';
import { type TrialStart, trialStart } from './trial-start.js';

/** The values of `driver` in settings and flags. `linux` comes first, as the default; `incus` is taken only when it is asked for. */
export const driverNames = ['linux', 'process', 'incus'] as const;
export type DriverName = (typeof driverNames)[number];

export interface SelectDriverOptions extends DriverOptions {
  /** Absent: the best that this host can do by itself. */
  preferred?: DriverName | undefined;
  /** Allows `process`, which isolates nothing, without being asked for by name, nor any isolation. Default false. */
  allowProcess?: boolean | undefined;
  /**
   * Starts a sandbox, and stores and restores its memory, before the driver is returned: memory that cannot be restored is
   * no capability. Default false; done all the same for an OCI runtime that is not among the tested ones.
   */
  trialStart?: boolean | undefined;
  /** Further options of the `linux` driver. Its `isolation` is asked of any other driver too. */
  linux?: Omit<LinuxDriverOptions, keyof DriverOptions>;
  /** Further options of the `incus` driver. Without an address: the trial cluster of this machine, if one runs. */
  incus?: Omit<IncusDriverOptions, keyof DriverOptions>;
}

export interface SelectedDriver {
  driver: Driver;
  /** Why this one; one sentence for the operator. */
  why: string;
  /** The facts of the host for the `linux` driver. Empty for a `process` driver that was asked for. */
  findings: Finding[];
  /** The result of `trialStart`. Undefined: no sandbox was started. */
  trial?: TrialStart | undefined;
}

/**
 * Opens the driver to use on this host. Never gives less isolation than was asked for.
 * @throws {DriverError} `unsupported` with the missing parts and the commands that get them; `busy` while another driver has the
 * data directory.
 */
export async function selectDriver(options: SelectDriverOptions): Promise<SelectedDriver> {
  const { preferred, allowProcess, linux, incus, trialStart: _, ...common } = options;
  if (preferred !== undefined) requireIsolation(preferred, linux?.isolation);
  if (preferred === 'incus') return openIncus(common, incus);
  if (preferred === 'process') return openProcess(common, [], 'It was asked for.');
  const facts = await readHostFacts({
    dataDir: common.dataDir,
    ...(linux?.ociRuntime === undefined ? {} : { ociRuntime: linux.ociRuntime }),
    ...(linux?.baseRoot === undefined ? {} : { baseRoot: linux.baseRoot }),
    ...(linux?.isolation === undefined ? {} : { isolation: linux.isolation }),
    ...(linux?.runscDirectory === undefined ? {} : { runscDirectory: linux.runscDirectory }),
    ...(linux?.criuDirectory === undefined ? {} : { criuDirectory: linux.criuDirectory }),
  });
  const findings = judgeHost(facts);
  if (linuxDriverCanRun(findings)) {
    const { createLinuxDriver } = await import('./linux-driver/create-linux-driver.js');
    const driver = await createLinuxDriver({ ...common, ...linux }, facts);
    const tested = TESTED_RUNTIMES.some((name) => name === facts.ociRuntime);
    const trial = options.trialStart === true || !tested ? await requireStart(driver, facts) : undefined;
    if (trial?.memoryProblem !== undefined) driver.withoutMemory(trial.memoryProblem);
    const why = preferred === 'linux' ? 'It was asked for.' : 'The host has all that isolation needs.';
    return { driver, findings, why: [why, ...described(trial)].join(' '), trial };
  }
  if (preferred === undefined && allowProcess === true && linux?.isolation === undefined) {
    return openProcess(
      common,
      findings,
      `The linux driver cannot run here. ${describeMissing(findings).join(' ')}`,
    );
  }
  throw new DriverError('unsupported', explain(findings));
}

/** The isolation levels of the drivers without a choice. */
const GIVEN: Record<Exclude<DriverName, 'linux'>, readonly Isolation[]> = {
  process: [],
  incus: ['container'],
};

/**
 * Refuses a driver that cannot give what was asked for, which would start sandboxes with less.
 * @throws {DriverError} `unsupported`
 */
export function requireIsolation(driver: DriverName, isolation: Isolation | undefined): void {
  if (isolation === undefined || driver === 'linux' || GIVEN[driver].includes(isolation)) return;
  const instead = driver === 'process' ? 'nothing' : GIVEN[driver].join(' or ');
  throw new DriverError(
    'unsupported',
    `The driver ${driver} cannot give the isolation ${isolation}: it gives ${instead}. Take the driver linux, or ask for no isolation.`,
  );
}

/**
 * A runtime that is installed may still start nothing on this host: fail now instead of at every create.
 * @throws {DriverError} `unsupported`; the driver is closed then.
 */
async function requireStart(
  driver: Driver,
  { isolation, ociRuntime }: HostFacts,
): Promise<TrialStart | undefined> {
  try {
    return await trialStart(driver);
  } catch (error) {
    // Instances from before may continue: only new ones are refused.
    await driver.close();
    const detail = DriverError.is(error) ? [error.message, error.detail].join('\n') : undefined;
    const message =
      isolation === 'gvisor'
        ? 'gVisor starts no sandbox on this host: choose the isolation container.'
        : `The OCI runtime ${ociRuntime} starts no sandbox${ociRuntime === 'runc' ? '' : ': choose runc'}.`;
    throw new DriverError('unsupported', message, { cause: error, detail });
  }
}

function described(trial: TrialStart | undefined): string[] {
  if (trial === undefined) return [];
  const { startedMs, restoredMs } = trial;
  const memory =
    restoredMs === undefined ? '' : ` and was stored and restored with its memory in ${restoredMs} ms`;
  return [`A sandbox started in ${startedMs} ms${memory}.`];
}

async function openIncus(
  options: DriverOptions,
  incus: SelectDriverOptions['incus'] = {},
): Promise<SelectedDriver> {
  const { createIncusDriver } = await import('./incus-driver/create-incus-driver.js');
  const { address, trial } = await findIncus(incus.address);
  const driver = await createIncusDriver({ ...options, ...incus, address });
  const why = trial ? 'It was asked for; it is the trial cluster of this machine.' : 'It was asked for.';
  return { driver, findings: [], why };
}

async function openProcess(
  options: DriverOptions,
  findings: Finding[],
  why: string,
): Promise<SelectedDriver> {
  const { createProcessDriver } = await import('./process-driver/create-process-driver.js');
  return { driver: await createProcessDriver(options), findings, why };
}

/** Explains to the operator why the host cannot run the `linux` driver. */
export function explain(findings: readonly Finding[]): string {
  return [
    'This host cannot run isolated sandboxes:',
    ...describeMissing(findings).map((line) => `  - ${line}`),
    '`svc server doctor --fix` gets what it may. `--driver process` runs sandboxes as plain processes instead, with NO ISOLATION.',
  ].join('\n');
}

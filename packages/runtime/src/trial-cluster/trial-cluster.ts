import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSameProcess, processStart } from '#support/process-identity';
import { writeAtomically } from '#support/write-atomically';
import { DriverError } from '../contract/errors.js';
import { IncusClient } from '../incus/incus-client.js';
import { IncusError } from '../incus/incus-error.js';
import { removeTree } from '../jail/remove-tree.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';
import { SCRIPT_ENVIRONMENT } from '../shared/script-environment.js';
import { formCluster } from './form-cluster.js';
import { incusRoot, installIncus } from './install-incus.js';
import { type MemberPlan, planTrialCluster, type TrialPlan } from './plan.js';

export const DEFAULT_TRIAL_DIRECTORY = '/var/lib/svc/cluster';
const DEFAULT_MEMBERS = 3;
const DEFAULT_DISK_MIB = 10_240;
/** Until a member's Incus answers. */
const START_MS = 300_000;
const STOP_MS = 180_000;
const STATE = 'cluster.json';

interface TrialState {
  members: number;
  /** Holds the network. */
  keeper?: { pid: number; start: string } | undefined;
}

export interface TrialOptions {
  /** Default `/var/lib/svc/cluster`. */
  directory?: string | undefined;
  /** Called with the progress, a line each. */
  log?: (line: string) => void;
}

export interface TrialStartOptions extends TrialOptions {
  /** The number of members, 1 to 9. Default 3. An existing cluster keeps its number. */
  members?: number | undefined;
  /** Storage of each member, MiB; it takes only what is used. Default 10,240. */
  diskMiB?: number | undefined;
}

/**
 * Starts an Incus cluster on this machine alone, for trying: each member in namespaces, cgroups and a root file system of its
 * own. Nothing of the machine's network changes. One that was stopped by a restart of the machine continues where it was.
 * @throws {DriverError} `unsupported`, `busy` when it runs; what was begun is undone then.
 */
export async function startTrialCluster(options: TrialStartOptions = {}): Promise<TrialPlan> {
  const { directory = DEFAULT_TRIAL_DIRECTORY, log = () => undefined, diskMiB = DEFAULT_DISK_MIB } = options;
  if (process.getuid?.() !== 0)
    throw new DriverError('unsupported', 'A trial cluster takes root: sudo svc cluster up.');
  const before = await readState(directory);
  if (before?.keeper !== undefined && isSameProcess(before.keeper.pid, before.keeper.start))
    throw new DriverError('busy', `A trial cluster runs in ${directory} already: svc cluster down ends it.`);
  if (before !== undefined && options.members !== undefined && options.members !== before.members)
    throw new DriverError(
      'unsupported',
      `The trial cluster in ${directory} has ${before.members} members: svc cluster down removes it.`,
    );
  const plan = planTrialCluster(directory, before?.members ?? options.members ?? DEFAULT_MEMBERS);
  const root = incusRoot() ?? (await installIncus({ log: (line) => log(line) }));
  // Left by one that was killed half-way.
  await stopMarked(plan.mark);
  await mkdir(plan.directory, { recursive: true, mode: 0o700 });
  try {
    await saveState(plan, undefined);
    const keeper = await startNetwork(plan);
    await saveState(plan, keeper);
    for (const member of plan.members) {
      await prepareDisk(member, diskMiB);
      startMemberProcess(plan, member, { root, keeper: keeper.pid });
    }
    await Promise.all(plan.members.map((member) => memberAnswers(member)));
    log(`${plan.members.length} members of Incus answer`);
    await formCluster(plan, log);
    return plan;
  } catch (error) {
    await stopMarked(plan.mark);
    if (before === undefined) await removeTree(plan.directory);
    if (DriverError.is(error)) throw error;
    throw new DriverError('unsupported', 'The trial cluster could not be started.', {
      cause: error,
      detail: String(error),
    });
  }
}

/** Ends a trial cluster with everything in it and removes its files. @returns whether there was one */
export async function stopTrialCluster(options: TrialOptions = {}): Promise<boolean> {
  const { directory = DEFAULT_TRIAL_DIRECTORY } = options;
  const state = await readState(directory);
  const plan = planTrialCluster(directory, state?.members ?? 0);
  await stopMarked(plan.mark);
  if (state === undefined) return false;
  await removeTree(plan.directory);
  return true;
}

/** The plan of the trial cluster of a directory; undefined where there is none. `up`: whether it runs. */
export async function findTrialCluster(
  options: Pick<TrialOptions, 'directory'> = {},
): Promise<{ plan: TrialPlan; up: boolean } | undefined> {
  const { directory = DEFAULT_TRIAL_DIRECTORY } = options;
  const state = await readState(directory);
  if (state === undefined) return undefined;
  const { keeper, members } = state;
  return {
    plan: planTrialCluster(directory, members),
    up: keeper !== undefined && isSameProcess(keeper.pid, keeper.start),
  };
}

/** Kills a member with all that runs on it, as a power failure does. */
export async function killTrialMember(plan: TrialPlan, name: string): Promise<void> {
  await stopMarked(`${plan.mark}/${name}`);
}

/** Starts a member that was killed; settles when its Incus answers. */
export async function returnTrialMember(plan: TrialPlan, name: string): Promise<void> {
  const member = plan.members.find((each) => each.name === name);
  const keeper = (await readState(plan.directory))?.keeper;
  const root = incusRoot();
  if (member === undefined || keeper === undefined || root === undefined)
    throw new DriverError('not_found', `The trial cluster has no member "${name}", or does not run.`);
  startMemberProcess(plan, member, { root, keeper: keeper.pid });
  await memberAnswers(member);
}

async function startNetwork({
  mark,
  network,
  directory,
}: TrialPlan): Promise<{ pid: number; start: string }> {
  const { gateway, bits, socket, prefix } = network;
  const args = [assetPath('incus/network.sh'), mark, `${gateway}/${bits}`, process.execPath, socket, prefix];
  const pid = startDetached(args, join(directory, 'network.log'));
  await until(`the network of the trial cluster (${join(directory, 'network.log')})`, async () =>
    (
      await runProgram('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', 'link', 'show', 'dev', 'trial', 'up'])
    ).stdout.includes('trial'),
  );
  const start = processStart(pid);
  if (start === undefined) throw new Error('The network of the trial cluster ended right after its start.');
  return { pid, start };
}

async function prepareDisk({ directory }: MemberPlan, diskMiB: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const image = join(directory, 'pool.img');
  const made = await writeFile(image, '', { flag: 'wx', mode: 0o600 }).then(
    () => true,
    () => false,
  );
  if (!made) return;
  try {
    await truncate(image, diskMiB * 2 ** 20);
    const { exitCode, stderr } = await runProgram('mkfs.btrfs', ['-q', image]);
    if (exitCode !== 0) throw new Error(`mkfs.btrfs ended with ${exitCode}: ${stderr.trim()}`);
  } catch (error) {
    await rm(image, { force: true });
    throw error;
  }
}

function startMemberProcess(
  plan: TrialPlan,
  member: MemberPlan,
  using: { root: string; keeper: number },
): void {
  const { mark, network } = plan;
  startDetached(
    [
      assetPath('incus/member.sh'),
      mark,
      member.name,
      member.directory,
      using.root,
      String(using.keeper),
      `${member.address}/${network.bits}`,
      network.gateway,
    ],
    join(member.directory, 'incus.log'),
  );
}

/** Starts a script that outlives this process. */
function startDetached(args: string[], logFile: string): number {
  const log = openSync(logFile, 'a', 0o600);
  try {
    const child = spawn('sh', args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: SCRIPT_ENVIRONMENT,
      cwd: '/',
    });
    child.on('error', () => undefined);
    child.unref();
    if (child.pid === undefined) throw new Error('No process can be started.');
    return child.pid;
  } finally {
    closeSync(log);
  }
}

/** @throws {DriverError} with the end of its log */
async function memberAnswers({ name, socket, directory }: MemberPlan): Promise<void> {
  const client = new IncusClient({ address: socket });
  try {
    await until(`Incus of the member ${name}`, () =>
      client.call({ path: '', timeoutMs: 20_000 }).then(
        () => true,
        (error: unknown) => {
          if (IncusError.is(error)) return false;
          throw error;
        },
      ),
    );
  } catch (error) {
    const log = await readFile(join(directory, 'incus.log'), 'utf8').catch(() => '');
    throw new DriverError('unsupported', `The member ${name} of the trial cluster did not start.`, {
      cause: error,
      detail: log.slice(-2000),
    });
  } finally {
    client.close();
  }
}

async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + START_MS;
  while (!(await ask())) {
    if (Date.now() > endMs) throw new Error(`Waited ${START_MS / 1000} s in vain for ${what}.`);
    await sleep(50);
  }
}

async function stopMarked(mark: string): Promise<void> {
  const { exitCode, stderr } = await runProgram('sh', [assetPath('incus/stop.sh'), mark], {
    timeoutMs: STOP_MS,
  });
  if (exitCode !== 0)
    throw new DriverError('unsupported', 'The trial cluster could not be ended.', { detail: stderr.trim() });
}

async function readState(directory: string): Promise<TrialState | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, STATE), 'utf8')) as TrialState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function saveState(plan: TrialPlan, keeper: TrialState['keeper']): Promise<void> {
  const state: TrialState = { members: plan.members.length, keeper };
  return writeAtomically(join(plan.directory, STATE), JSON.stringify(state));
}

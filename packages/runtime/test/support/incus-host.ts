import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { baseDirectory, baseRecipe, findBase } from '../../src/host/base-root.js';
import { incusRoot } from '../../src/trial-cluster/install-incus.js';
import { addressOf, type TrialPlan } from '../../src/trial-cluster/plan.js';
import { startTrialCluster, stopTrialCluster } from '../../src/trial-cluster/trial-cluster.js';

const base = findBase(baseDirectory({}), await baseRecipe());

/** Tests on Incus unpack whole images on members that share one machine. */
export const INCUS_TEST_MS = 900_000;

/** Why tests on a real Incus cluster cannot run here. Undefined: they can. */
export function incusSkipReason(): string | undefined {
  if (process.env.SVC_HEAVY !== '1')
    return skipped('they start whole clusters and take minutes; set SVC_HEAVY=1');
  const missing = [
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...(incusRoot() !== undefined || existsSync('/usr/bin/mmdebstrap') ? [] : ['mmdebstrap']),
    ...(base === undefined ? ['the template base (scripts/prepare-host.sh --base)'] : []),
  ];
  return missing.length === 0 ? undefined : skipped(`they need ${missing.join(', ')}`);
}

function skipped(reason: string): string {
  console.warn(`Tests of Incus are skipped: ${reason}.`);
  return reason;
}

export interface TestCluster {
  plan: TrialPlan;
  /** The address for the driver. */
  address: string;
  stop(): Promise<void>;
}

/** A trial cluster in a temporary directory. */
export async function startTestCluster(members: number): Promise<TestCluster> {
  const directory = join(await mkdtemp(join(tmpdir(), 'incus-')), 'cluster');
  const plan = await startTrialCluster({ directory, members, diskMiB: 20_480 });
  return {
    plan,
    address: addressOf(plan),
    stop: async () => {
      await stopTrialCluster({ directory });
      await rm(dirname(directory), { recursive: true, force: true });
    },
  };
}

/** Lists the resources that a trial cluster leaked on the host: processes, cgroups, mounts, loop devices, files. */
export function leakedByCluster({ directory, mark }: TrialPlan): string[] {
  const hierarchies = ['', ...list('/sys/fs/cgroup')].map((name) => join('/sys/fs/cgroup', name, mark));
  const loops = list('/sys/block').map((name) => read(`/sys/block/${name}/loop/backing_file`));
  const processes = list('/proc').filter(
    (pid) => /^\d+$/.test(pid) && (read(`/proc/${pid}/cmdline`) + read(`/proc/${pid}/cgroup`)).includes(mark),
  );
  return [
    ...hierarchies.filter((path) => existsSync(path)).map((path) => `cgroup ${path}`),
    ...processes.map((pid) => `process ${pid}: ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`),
    ...loops.filter((file) => file.startsWith(directory)).map((file) => `loop device of ${file.trim()}`),
    ...(read('/proc/self/mountinfo').includes(directory) ? [`mount below ${directory}`] : []),
    ...(existsSync(directory) ? [`directory ${directory}`] : []),
  ];
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

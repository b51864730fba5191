import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readProcStat } from '#support/process-identity';
import { isBaseName } from '../shared/base-name.js';
import type { RetryLater } from '../shared/retry-later.js';
import { disposeInstance } from './boot/dispose.js';
import { readCheckpoint } from './checkpoints/checkpoint.js';
import { reapImages } from './checkpoints/image-directory.js';
import type { LinuxHost } from './host/linux-host.js';
import { readLayerFacts } from './rootfs/layer-facts.js';
import type { Paths } from './state/paths.js';

/**
 * Removes what no record knows: cgroups, directories and runtime state of a crash. Gives what it removed; what cannot
 * be removed is left to `cleanUp` and keeps nobody waiting.
 * @param tracked names of instances that the driver knows, in any state.
 */
export async function reapLeaked(
  host: LinuxHost,
  tracked: ReadonlySet<string>,
  cleanUp: RetryLater,
): Promise<string[]> {
  const keeper = await host.up();
  const recorded = host.records.all();
  const known = new Set([...tracked, ...recorded.map((entry) => entry.name)]);
  const checkpoints = host.store
    .list('c')
    .flatMap((id) => (id.startsWith('.') ? [] : (readCheckpoint(host, id) ?? [])));
  const agentsInUse = new Set([...recorded, ...checkpoints].map((each) => each.agent));
  for (const agent of [host.agent, host.node]) if (agent !== undefined) agentsInUse.add(agent.name);
  const names = new Set([...host.cgroups.names(), ...host.store.list('i'), ...readdirSync(host.paths.oci)]);
  const removed: string[] = [];
  for (const name of names) {
    if (known.has(name)) continue;
    // Lease 0 is nobody's.
    const removeTraces = await disposeInstance(
      host,
      {
        name,
        state: 'making',
        spec: { layers: [], limits: {}, network: { egress: 'none' }, mounts: [], labels: {} },
        lease: 0,
        createdAtMs: 0,
        agent: '',
        layers: [],
      },
      cleanUp,
    );
    await removeTraces();
    removed.push(`orphan ${name}`);
  }
  for (const folder of ['c', 'l'] as const) {
    for (const name of host.store.list(folder)) {
      if (!name.startsWith('.')) continue;
      const path = `${folder}/${name}`;
      if (await cleanUp.attempt(path, () => removePath(host, path)))
        removed.push(`draft ${folder}/${name.slice(1)}`);
    }
  }
  await reapImages(keeper, new Set(checkpoints.map(({ id }) => id)));
  const layers = host.store.list('l').flatMap((id) => readLayerFacts(host.store, id) ?? []);
  const basesInUse = new Set([
    ...[...recorded, ...checkpoints].flatMap((each) => each.layers.filter(isBaseName)),
    ...layers.flatMap(({ base }) => base ?? []),
  ]);
  for (const name of await host.bases.release(basesInUse))
    host.log('info', 'a base root file system that nothing stands on was removed', { base: name });
  for (const name of host.store.list('agents')) {
    if (agentsInUse.has(name)) continue;
    const path = `agents/${name}`;
    if (!(await cleanUp.attempt(path, () => removePath(host, path)))) continue;
    // A cache of an earlier version of the daemon, no orphan.
    host.log('debug', 'an agent of an earlier version was removed', { agent: name });
  }
  return removed;
}

async function removePath(host: LinuxHost, path: string): Promise<void> {
  await host.up();
  await host.store.remove(path);
}

/** Longest that a script of a killed server may still need; a dump is the slowest. */
const ORPHANS_TIMEOUT_MS = 90_000;

/**
 * Waits until scripts that a killed server left running on its data directory have ended: they would continue to make
 * things, and a dump that is killed half-way damages the programs it was looking at. Only the driver's own scripts name
 * the store on their command line: programs in instances never do.
 */
export async function outwaitOrphanedScripts(paths: Paths): Promise<void> {
  const deadline = Date.now() + ORPHANS_TIMEOUT_MS;
  for (;;) {
    const orphans = orphanedScripts(paths);
    if (orphans.length === 0) return;
    if (Date.now() > deadline) {
      for (const pgid of orphans) process.kill(-pgid, 'SIGKILL');
      return;
    }
    await sleep(10);
  }
}

/** Process groups of the scripts. */
function orphanedScripts(paths: Paths): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!/^(nsenter|sh)\0/.test(command) || !command.endsWith(`\0${paths.store}\0`)) return [];
      const pgid = readProcStat(Number(pid))?.pgid;
      return pgid === undefined ? [] : [pgid];
    } catch {
      return [];
    }
  });
}

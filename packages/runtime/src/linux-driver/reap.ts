import { readdirSync } from 'node:fs';
import { disposeInstance } from './dispose.js';
import type { Host } from './host.js';

/** Removes what no record knows: cgroups, directories and runtime state of a crash. Gives what it removed. */
export async function reapLeftovers(host: Host, known: ReadonlySet<string>): Promise<string[]> {
  const holder = await host.up();
  const names = new Set([
    ...host.cgroups.names(),
    ...host.store.list(holder, 'i'),
    ...readdirSync(host.paths.oci),
  ]);
  const removed: string[] = [];
  for (const name of names) {
    if (known.has(name)) continue;
    // Slot 0 is nobody's.
    const cleanUp = await disposeInstance(host, {
      name,
      state: 'making',
      spec: { layers: [], limits: {}, network: { egress: 'none' }, mounts: [], labels: {} },
      slot: 0,
      createdAtMs: 0,
      agent: '',
      layers: [],
    });
    await cleanUp();
    removed.push(`leftover ${name}`);
  }
  for (const folder of ['c', 'l'] as const) {
    for (const name of host.store.list(holder, folder)) {
      if (!name.startsWith('.')) continue;
      await host.inStore(holder, host.store.remove(`${folder}/${name}`), 'create_failed', 120_000);
      removed.push(`draft ${folder}/${name.slice(1)}`);
    }
  }
  return removed;
}

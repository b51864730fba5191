import { writeFileSync } from 'node:fs';
import type { LayerInfo } from '../contract/instance.js';
import { randomId } from '../shared/instance-id.js';
import type { Host } from './host.js';
import type { InstanceEntry } from './records.js';

/** Stores what an instance wrote as a layer. The instance stands still only while the copy is taken. */
export async function commitInstance(host: Host, entry: InstanceEntry): Promise<LayerInfo> {
  const holder = await host.up();
  const id = randomId();
  const draft = `l/.${id}`;
  const wasFrozen = host.cgroups.frozen(entry.name);
  if (!wasFrozen) await host.cgroups.freeze(entry.name);
  try {
    await host.inStore(
      holder,
      `set -e\n${host.store.copy(`i/${entry.name}/sv`, draft)}`,
      'create_failed',
      300_000,
    );
  } finally {
    if (!wasFrozen) host.cgroups.thaw(entry.name);
  }
  // `/usr` of the base is an overlay of its own; in a layer it stands where it belongs.
  const result = await host.inStore(
    holder,
    `set -e
cd ${draft}; rm -rf w uw; mv u root
if [ -n "$(ls -A uu)" ]; then rm -rf root/usr; mv uu root/usr; else rmdir uu; fi
rm -rf root/.sbx
du -s -B1 root; [ -d root/usr ] && echo usr; true`,
    'create_failed',
    300_000,
  );
  const sizeBytes = Number(/^(\d+)\s/m.exec(result.stdout)?.[1] ?? 0);
  const facts = { full: false, hasUsr: /^usr$/m.test(result.stdout), sizeBytes };
  writeFileSync(host.view(holder, `${draft}/layer.json`), JSON.stringify(facts));
  await host.inStore(holder, `mv ${draft} l/${id}`, 'create_failed', 10_000);
  return { id, sizeBytes };
}

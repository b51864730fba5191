import { writeFileSync } from 'node:fs';
import type { LayerInfo } from '../../contract/instance.js';
import { randomId } from '../../shared/instance-id.js';
import type { LinuxHost } from '../host/linux-host.js';
import { isDirectory } from '../rootfs/inside-layer.js';
import type { InstanceEntry } from '../state/records.js';

/** Stores what an instance wrote as a layer. The instance stands still only while the copy is taken. */
export async function commitInstance(host: LinuxHost, entry: InstanceEntry): Promise<LayerInfo> {
  const keeper = await host.up();
  await host.space.require();
  const id = randomId();
  const draft = `l/.${id}`;
  const wasFrozen = host.cgroups.frozen(entry.name);
  if (!wasFrozen) await host.cgroups.freeze(entry.name);
  try {
    await host.inStore(
      keeper,
      `set -e\n${host.store.copy(`i/${entry.name}/sv`, draft)}`,
      'create_failed',
      300_000,
    );
  } finally {
    if (!wasFrozen) host.cgroups.thaw(entry.name);
  }
  // `/usr` of the base is an overlay of its own; in a layer it stands where it belongs.
  const result = await host.inStore(
    keeper,
    `set -e
if ! rmdir ${draft}/uu 2>/dev/null; then
  mv -T ${draft}/u/usr ${draft}/uw/mount-point 2>/dev/null || true
  mv -T ${draft}/uu ${draft}/u/usr
fi
${host.store.removeEntries(draft, ['w', 'uw', 'u/.sbx'])}
mv ${draft}/u ${draft}/root
du -s -B1 ${draft}/root`,
    'create_failed',
    300_000,
  );
  const sizeBytes = Number(/^(\d+)\s/m.exec(result.stdout)?.[1] ?? 0);
  const facts = { full: false, hasUsr: isDirectory(host.view(keeper, `${draft}/root/usr`)), sizeBytes };
  writeFileSync(host.view(keeper, `${draft}/layer.json`), JSON.stringify(facts));
  await host.inStore(keeper, `mv ${draft} l/${id}`, 'create_failed', 10_000);
  return { id, sizeBytes };
}

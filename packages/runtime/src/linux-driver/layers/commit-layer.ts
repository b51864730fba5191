import type { LayerInfo } from '../../contract/instance.js';
import { isBaseName } from '../../shared/base-name.js';
import { randomId } from '../../shared/instance-id.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { InstanceEntry } from '../state/records.js';
import { keepLayer } from './keep-layer.js';

/** Stores what an instance wrote as a layer. The instance stands still only while the copy is taken. */
export async function commitInstance(host: LinuxHost, entry: InstanceEntry): Promise<LayerInfo> {
  const { store } = host;
  await host.up();
  await host.space.require();
  const id = randomId();
  const draft = `l/.${id}`;
  const wasFrozen = host.cgroups.frozen(entry.name);
  if (!wasFrozen) await host.cgroups.freeze(entry.name);
  try {
    await store.copy(`i/${entry.name}/sv`, draft);
  } finally {
    if (!wasFrozen) host.cgroups.thaw(entry.name);
  }
  const { bytes } = await store.run(
    {
      name: 'layer_of_instance',
      arguments: [draft, ...store.removeEntries(draft, ['w', 'uw', 'u/.sbx'])],
    },
    { timeoutMs: 300_000 },
  );
  const base = entry.layers.find(isBaseName);
  return await keepLayer(store, { id, full: false, sizeBytes: Number(bytes), base });
}

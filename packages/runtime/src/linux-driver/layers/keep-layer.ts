import { renameSync, writeFileSync } from 'node:fs';
import type { LayerInfo } from '../../contract/instance.js';
import { isDirectory } from '../rootfs/inside-layer.js';
import type { Store } from '../store/store.js';

/** Makes the draft of a layer visible under its id, with what is known of it and the empty part for what will stand on it. */
export async function keepLayer(
  store: Store,
  { id, full, sizeBytes, base }: { id: string; full: boolean; sizeBytes: number; base: string | undefined },
): Promise<LayerInfo> {
  const path = `l/.${id}`;
  await store.run(
    { name: 'writable_of_layer', arguments: [path, ...store.removeEntries(`${path}/sv`, ['root'])] },
    { timeoutMs: 300_000 },
  );
  const draft = store.view(path);
  const facts = { full, base, hasUsr: isDirectory(`${draft}/root/usr`), sizeBytes };
  writeFileSync(`${draft}/layer.json`, JSON.stringify(facts));
  renameSync(draft, store.view(`l/${id}`));
  return { id, sizeBytes };
}

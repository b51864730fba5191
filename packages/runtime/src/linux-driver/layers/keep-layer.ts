import { renameSync, writeFileSync } from 'node:fs';
import type { LayerInfo } from '../../contract/instance.js';
import { isDirectory } from '../rootfs/inside-layer.js';
import type { Store } from '../store/store.js';

/** Makes the draft of a layer visible under its id, with what is known of it. */
export function keepLayer(
  store: Store,
  { id, full, sizeBytes, base }: { id: string; full: boolean; sizeBytes: number; base: string | undefined },
): LayerInfo {
  const draft = store.view(`l/.${id}`);
  const facts = { full, base, hasUsr: isDirectory(`${draft}/root/usr`), sizeBytes };
  writeFileSync(`${draft}/layer.json`, JSON.stringify(facts));
  renameSync(draft, store.view(`l/${id}`));
  return { id, sizeBytes };
}

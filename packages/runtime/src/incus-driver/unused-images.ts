import type { RetryLater } from '../shared/retry-later.js';
import type { Images } from './image/images.js';
import { imageKeys } from './keys.js';

export interface UnusedImagesOptions {
  images: Pick<Images, 'list' | 'delete'>;
  cleanUp: Pick<RetryLater, 'attempt'>;
  /** The data directory whose driver made them. */
  owner: string;
  isGone(layerId: string): Promise<boolean>;
}

/** Removes images of one owner with a deleted layer in them. @returns what it was, for the log */
export async function removeUnusedImages({
  images,
  cleanUp,
  owner,
  isGone,
}: UnusedImagesOptions): Promise<string[]> {
  const removed: string[] = [];
  for (const { fingerprint, properties } of await images.list()) {
    if (properties[imageKeys.owner] !== owner) continue;
    const ids = [properties[imageKeys.layer], ...(properties[imageKeys.layers] ?? '').split(',')];
    const deleted = await Promise.all(ids.map((id) => (id ? isGone(id) : false)));
    if (!deleted.includes(true)) continue;
    if (await cleanUp.attempt(`image ${fingerprint}`, () => images.delete(fingerprint)))
      removed.push(`image ${fingerprint}`);
  }
  return removed;
}

import type { LostDriver } from '../contract/driver.js';
import type { RetryLater } from '../shared/retry-later.js';
import type { Images } from './image/images.js';
import type { IncusCluster } from './incus-cluster.js';
import { imageKeys, keys } from './keys.js';
import { removeUnusedImages } from './unused-images.js';
import type { IncusVolumes } from './volumes/incus-volumes.js';

/** States of what nobody was given. */
const UNGIVEN: readonly (string | undefined)[] = ['pooled', 'volume-agent'];

export interface LostOptions {
  cluster: Pick<IncusCluster, 'listOf' | 'remove'>;
  /** Undefined where the storage pool can have none. */
  volumes: Pick<IncusVolumes, 'takeOver'> | undefined;
  images: Pick<Images, 'list' | 'delete' | 'take'>;
  cleanUp: Pick<RetryLater, 'attempt'>;
  lost: LostDriver;
  onFailure(name: string, error: unknown): void;
}

/**
 * Removes what a server that is lost had made and given to nobody: its pool, probes, agents of volumes; then volumes that it had
 * still to delete, and its images of layers that nothing uses. Its other images are taken over. @returns names, for the log
 */
export async function removeOfLost(options: LostOptions): Promise<string[]> {
  const { volumes, images, cleanUp, lost } = options;
  const removed = await removeInstances(options);
  // Its agents had them mounted.
  removed.push(...((await volumes?.takeOver(lost)) ?? []));
  const used = await lost.usedLayers();
  const isGone = async (layerId: string) => !used.has(layerId) && (await lost.isLost());
  removed.push(...(await removeUnusedImages({ images, cleanUp, owner: lost.holder, isGone })));
  for (const image of await images.list())
    if (image.properties[imageKeys.owner] === lost.holder && (await lost.isLost()))
      await cleanUp.attempt(`image ${image.fingerprint}`, () => images.take(image));
  return removed;
}

/** An instance that changed since it was listed, such as one that was acquired after all, stays. */
async function removeInstances({ cluster, lost, onFailure }: LostOptions): Promise<string[]> {
  const removed: string[] = [];
  for (const { name, config } of await cluster.listOf(lost.holder)) {
    const state = config[keys.state];
    if (!UNGIVEN.includes(state)) continue;
    if (!(await lost.isLost())) break;
    try {
      await cluster.remove(name, {
        [keys.owner]: lost.holder,
        [keys.state]: state,
        [keys.unique]: config[keys.unique],
      });
      removed.push(name);
    } catch (error) {
      // On a member that is away. It is tried again the next time.
      onFailure(name, error);
    }
  }
  return removed;
}

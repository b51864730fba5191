import type { RetryLater } from '../shared/retry-later.js';
import type { IncusDriverParts } from './driver-parts.js';
import type { IncusCheckpoints } from './incus-checkpoints.js';
import type { IncusInstance } from './incus-instance.js';
import { keys } from './keys.js';
import { removeUnusedImages } from './unused-images.js';

export interface OrphansOptions {
  parts: IncusDriverParts;
  cleanUp: RetryLater;
  /** Those that somebody knows. */
  instances(): Iterable<IncusInstance>;
  checkpoints: IncusCheckpoints;
  /** Names of instances that are being made. */
  making: ReadonlySet<string>;
  /** Layers whose image is there before they are. */
  committing: ReadonlySet<string>;
}

/** Removes what an earlier process of this data directory left in Incus. @returns what it was, for the log */
export async function removeOrphans(options: OrphansOptions): Promise<string[]> {
  const { parts, cleanUp, committing } = options;
  const isGone = async (layerId: string) =>
    !committing.has(layerId) && (await parts.files.find(layerId)) === undefined;
  return [
    ...(await removeUnknown(options)),
    ...(await removeUnusedImages({ images: parts.images, cleanUp, owner: parts.owner, isGone })),
  ];
}

/** Removes instances of this data directory that nobody knows: half-made ones, and those of an earlier pool. */
async function removeUnknown({
  parts,
  making,
  cleanUp,
  instances,
  checkpoints,
}: OrphansOptions): Promise<string[]> {
  const { cluster, owner } = parts;
  const known = new Set(making);
  for (const { record } of instances()) known.add(record.name);
  for (const { name } of await checkpoints.list()) known.add(name);
  const removed: string[] = [];
  for (const { name, config } of await cluster.listOf(owner)) {
    if (known.has(name) || making.has(name)) continue;
    const same = { [keys.owner]: owner, [keys.unique]: config[keys.unique] };
    if (await cleanUp.attempt(`instance ${name}`, () => cluster.remove(name, same))) {
      removed.push(`half-made or pooled instance ${name}`);
    }
  }
  return removed;
}

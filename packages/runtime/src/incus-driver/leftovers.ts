import type { RetryLater } from '../shared/retry-later.js';
import type { IncusDriverParts } from './driver-parts.js';
import type { IncusCheckpoints } from './incus-checkpoints.js';
import type { IncusCluster } from './incus-cluster.js';
import type { IncusInstance } from './incus-instance.js';
import { imageKeys, keys } from './keys.js';

export interface LeftoversOptions {
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
export async function removeLeftovers(options: LeftoversOptions): Promise<string[]> {
  return [...(await removeUnknown(options)), ...(await removeImages(options))];
}

/** States of what nobody was given. */
const UNGIVEN: readonly (string | undefined)[] = ['pooled', 'volume-agent'];

export interface LostOptions {
  cluster: Pick<IncusCluster, 'listOf' | 'remove'>;
  /** The data directory whose server is lost. */
  owner: string;
  /** Whether it still is. */
  isLost(): Promise<boolean>;
  onFailure(name: string, error: unknown): void;
}

/**
 * Removes what a server that is lost had made and given to nobody: its pool, probes, agents of volumes. What of it has changed since it
 * was listed, such as when it is given to somebody after all, stays. @returns names, for the log
 */
export async function removeOfLost({ cluster, owner, isLost, onFailure }: LostOptions): Promise<string[]> {
  const removed: string[] = [];
  for (const { name, config } of await cluster.listOf(owner)) {
    const state = config[keys.state];
    if (!UNGIVEN.includes(state)) continue;
    if (!(await isLost())) break;
    try {
      await cluster.remove(name, {
        [keys.owner]: owner,
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

/** Removes instances of this data directory that nobody knows: half-made ones, and those of a pool that is gone. */
async function removeUnknown({
  parts,
  making,
  cleanUp,
  instances,
  checkpoints,
}: LeftoversOptions): Promise<string[]> {
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

/** Removes images of layers that are gone. */
async function removeImages({ parts, cleanUp, committing }: LeftoversOptions): Promise<string[]> {
  const { cluster, images, files, owner } = parts;
  const removed: string[] = [];
  for (const { fingerprint, properties } of await images.list()) {
    if (properties[imageKeys.owner] !== owner) continue;
    const ids = [properties[imageKeys.layer], ...(properties[imageKeys.layers] ?? '').split(',')].filter(
      Boolean,
    );
    const gone = (await Promise.all(ids.map((id) => files.find(id!)))).some((layer) => layer === undefined);
    if (!gone || committing.has(properties[imageKeys.layer] ?? '')) continue;
    const remove = () => cluster.client.find({ method: 'DELETE', path: `/images/${fingerprint}` });
    if (await cleanUp.attempt(`image ${fingerprint}`, remove)) removed.push(`image ${fingerprint}`);
  }
  return removed;
}

import { DriverError } from '../contract/errors.js';
import { requireCheckpointId } from '../shared/instance-id.js';
import type { Checkpoints } from '../shared/instance-registry.js';
import type { CheckpointRecords, IncusCheckpoint } from './checkpoint-records.js';
import { translated } from './driver-error.js';
import type { IncusCluster } from './incus-cluster.js';
import { checkpointName, keys } from './keys.js';
import { countOf, readLayerIds } from './read-wire.js';
import type { WireInstance } from './wire.js';

const UNTOLD = {
  code: 'unreachable',
  message: 'It is not known whether the checkpoint is there, as a machine of the cluster is away.',
} as const;

/** Checkpoints of file systems: stopped copies of instances, on the member of their source. */
export class IncusCheckpoints implements Checkpoints<IncusCheckpoint> {
  readonly #cluster: IncusCluster;
  readonly #records: CheckpointRecords;
  readonly #claimed = new Set<string>();
  readonly #stored = new Map<string, IncusCheckpoint>();
  /** Names in Incus of those that were deleted: a list may be older. */
  readonly #deleted = new Set<string>();

  /** @param from what the data directory knows of those that are there, and everything that was found in Incus. */
  constructor(
    cluster: IncusCluster,
    from: {
      records: CheckpointRecords;
      recorded: readonly IncusCheckpoint[];
      found: readonly WireInstance[];
    },
  ) {
    this.#cluster = cluster;
    this.#records = from.records;
    for (const checkpoint of from.recorded) this.#stored.set(checkpoint.id, checkpoint);
    this.learn(from.found);
  }

  /** Takes in those that were found, such as of a member that was away before. */
  learn(found: Iterable<WireInstance>): void {
    for (const instance of found) {
      const checkpoint = readCheckpoint(instance);
      if (checkpoint === undefined || this.#stored.has(checkpoint.id) || this.#deleted.has(checkpoint.name))
        continue;
      this.#stored.set(checkpoint.id, checkpoint);
    }
  }

  async list(): Promise<IncusCheckpoint[]> {
    return [...this.#stored.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Also one that another server made. @throws {DriverError} `unreachable` while that is not known */
  async find(id: string): Promise<IncusCheckpoint | undefined> {
    return this.#stored.get(id) ?? this.look(id);
  }

  /** As {@link find}, in Incus itself: another server may have deleted it. */
  async look(id: string): Promise<IncusCheckpoint | undefined> {
    const name = this.#stored.get(id)?.name ?? checkpointName(id);
    const found = await translated(() => this.#cluster.find(name), UNTOLD);
    if (found?.status === 'Error') throw new DriverError(UNTOLD.code, UNTOLD.message);
    return found === undefined ? undefined : readCheckpoint(found);
  }

  async delete(id: string): Promise<void> {
    const checkpoint = await this.find(id);
    if (checkpoint === undefined) return;
    const fallback = { code: 'unreachable', message: 'The checkpoint could not be deleted.' } as const;
    this.#deleted.add(checkpoint.name);
    await translated(() => this.#cluster.remove(checkpoint.name, { [keys.id]: id }), fallback);
    this.#stored.delete(id);
    await this.#records.remove(checkpoint.name);
  }

  /** It could not be made to its end. */
  forget(name: string): void {
    this.#deleted.add(name);
  }

  /** Runs `task`, which makes the checkpoint, unless the name is taken. @throws {DriverError} `busy` */
  async claim(id: string, task: () => Promise<IncusCheckpoint>): Promise<IncusCheckpoint> {
    if (this.#claimed.has(id) || this.#stored.has(id)) {
      throw new DriverError('busy', 'A checkpoint of this name exists already.');
    }
    this.#claimed.add(id);
    try {
      const made = await task();
      await this.#records.write(made);
      this.#stored.set(id, made);
      this.#deleted.delete(made.name);
      return made;
    } finally {
      this.#claimed.delete(id);
    }
  }
}

/** Undefined for what is none, or has a member that is away. */
function readCheckpoint({ name, config }: WireInstance): IncusCheckpoint | undefined {
  const id = config[keys.id];
  if (config[keys.state] !== 'checkpoint' || id === undefined) return undefined;
  try {
    return {
      name,
      id: requireCheckpointId(id),
      memory: false,
      imageBytes: countOf(config[keys.imageBytes]),
      sizeBytes: countOf(config[keys.sizeBytes]),
      layers: readLayerIds(config[keys.layers]),
    };
  } catch {
    // Nothing that a driver has written.
    return undefined;
  }
}

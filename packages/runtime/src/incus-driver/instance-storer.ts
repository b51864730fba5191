import { DriverError } from '../contract/errors.js';
import type { Checkpoint, CheckpointOptions, LayerInfo } from '../contract/instance.js';
import { randomId } from '../shared/instance-id.js';
import type { RetryLater } from '../shared/retry-later.js';
import { driverError, isNameTaken, translated } from './driver-error.js';
import type { IncusDriverParts } from './driver-parts.js';
import type { IncusCheckpoints } from './incus-checkpoints.js';
import type { IncusInstance } from './incus-instance.js';
import { checkpointName, keys } from './keys.js';
import { withoutMounts } from './volumes/place-mounts.js';

export interface InstanceStorerOptions {
  parts: IncusDriverParts;
  checkpoints: IncusCheckpoints;
  cleanUp: RetryLater;
  /** Names of instances that are being made: the reaper keeps off. */
  making: Set<string>;
  /** Layers whose image is there before they are. */
  committing: Set<string>;
}

/** Keeps the files of instances: as checkpoints, and as layers of templates. */
export class InstanceStorer {
  readonly #options: InstanceStorerOptions;

  constructor(options: InstanceStorerOptions) {
    this.#options = options;
  }

  async checkpoint(instance: IncusInstance, { checkpointId }: CheckpointOptions): Promise<Checkpoint> {
    const { cluster, owner } = this.#options.parts;
    const { name: source, location, layers, imageBytes } = instance.record;
    const made = await this.#options.checkpoints.claim(checkpointId, async () => {
      const name = checkpointName(checkpointId);
      const unique = randomId();
      this.#options.making.add(name);
      try {
        const used = (await cluster.state(source)).disk?.root?.usage ?? 0;
        // Where the pool does not count, it is at least something.
        const sizeBytes = Math.max(1, used - imageBytes);
        const config = {
          [keys.owner]: owner,
          [keys.unique]: unique,
          [keys.state]: 'checkpoint',
          [keys.id]: checkpointId,
          [keys.labels]: '{}',
          [keys.layers]: JSON.stringify(layers),
          [keys.sizeBytes]: String(sizeBytes),
          [keys.imageBytes]: String(imageBytes),
          // Unlike a sandbox it can move to another machine; left to itself Incus does not move what has a routed network card.
          'cluster.evacuate': 'migrate',
        };
        // Volumes are no part of a copy, which would keep them from being deleted.
        const devices = withoutMounts((await cluster.find(source))?.devices ?? {});
        await cluster.create(
          { name, config, devices, source: { type: 'copy', source, instance_only: true } },
          { start: false, target: location },
        );
        return { id: checkpointId, name, memory: false, sizeBytes, imageBytes, layers };
      } catch (error) {
        this.#options.checkpoints.forget(name);
        await this.#options.cleanUp.attempt(`checkpoint ${checkpointId}`, () =>
          cluster.remove(name, { [keys.unique]: unique }),
        );
        if (isNameTaken(error))
          throw new DriverError('busy', 'A checkpoint of this name exists already.', { cause: error });
        throw driverError(error, { code: 'unreachable', message: 'The sandbox could not be stored.' });
      } finally {
        this.#options.making.delete(name);
      }
    });
    // The storage pool takes the copy at one moment, while programs run.
    return { id: made.id, memory: false, sizeBytes: made.sizeBytes, frozenMs: 0 };
  }

  async commitLayer(instance: IncusInstance): Promise<LayerInfo> {
    const { cluster, images, files } = this.#options.parts;
    const { name } = instance.record;
    const layerId = randomId();
    this.#options.committing.add(layerId);
    return translated(
      async () => {
        await cluster.snapshot(name, layerId);
        try {
          const layer = await images.publishSnapshot({ instance: name, snapshot: layerId, layerId });
          const { id, sizeBytes } = await files.add(layer);
          return { id, sizeBytes };
        } finally {
          await this.#options.cleanUp.attempt(`snapshot ${layerId}`, () =>
            cluster.deleteSnapshot(name, layerId),
          );
        }
      },
      { code: 'unreachable', message: 'The sandbox could not be stored.' },
    ).finally(() => this.#options.committing.delete(layerId));
  }
}

import { Readable } from 'node:stream';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Driver } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceSpec } from '../contract/instance.js';
import type { Driver as DriverService, ImportLayerRequest, Spec } from '../gen/driver/driver_pb.js';
import { requireCheckpointId, requireInstanceId, requireLayerId } from '../shared/instance-id.js';
import { Cancellations } from './cancellations.js';
import { checkArchiveLimits, checkKept, checkPool, checkSpec, checkVolumeLimit } from './check.js';
import type { DriverEvent } from './driver-log.js';
import { InstanceHandles } from './handles.js';
import { archiveLimitsFromWire, instanceToWire, specFromWire, toConnectError } from './wire.js';

type Handlers = Omit<ServiceImpl<typeof DriverService>, 'watch'>;

export interface DriverCallsOptions {
  /** Directories of the host that may be mounted, beside volumes. */
  mountSources: readonly string[];
  tell: (event: DriverEvent) => void;
  /** Called once the driver was closed. */
  closed: () => void;
}

/** The calls of a served driver. Everything that comes in is checked, whatever the driver itself checks. */
export class DriverCalls {
  readonly #driver: Driver;
  readonly #handles: InstanceHandles;
  readonly #cancellations = new Cancellations();
  readonly #options: DriverCallsOptions;

  constructor(driver: Driver, options: DriverCallsOptions) {
    const { tell } = options;
    this.#driver = driver;
    this.#options = options;
    this.#handles = new InstanceHandles((handle, { reason }) =>
      tell({ case: 'ended', value: { handle, reason } }),
    );
  }

  handlers(): Handlers {
    return { ...this.#ofDriver(), ...this.#ofLayers(), ...this.#ofInstances(), ...this.#ofVolumes() };
  }

  #ofDriver() {
    const driver = this.#driver;
    return {
      describe: () => ({
        name: driver.name,
        summary: driver.summary,
        capabilities: driver.capabilities,
        volumes: driver.volumes !== undefined,
        storage: driver.storage !== undefined,
      }),
      cancel: ({ callId }) => {
        this.#cancellations.cancel(callId);
        return {};
      },
      create: ({ callId, id, spec }, context) =>
        this.#cancellable(callId, context, async (signal) => ({
          instance: this.#wire(
            await driver.create({ id: requireInstanceId(id), spec: await this.#spec(spec), signal }),
          ),
        })),
      restore: ({ callId, id, spec, checkpointId, memory }, context) =>
        this.#cancellable(callId, context, async (signal) => ({
          instance: this.#wire(
            await driver.restore({
              id: requireInstanceId(id),
              spec: await this.#spec(spec),
              checkpointId: requireCheckpointId(checkpointId),
              memory,
              signal,
            }),
          ),
        })),
      list: async () => ({ instances: await driver.list() }),
      adopt: async ({ id }) => {
        const instance = await driver.adopt(id);
        return instance === undefined ? {} : { instance: this.#wire(instance) };
      },
      reap: async ({ instanceIds, checkpointIds }) => ({
        removed: await driver.reap({
          instanceIds: checkKept(instanceIds),
          checkpointIds: checkKept(checkpointIds),
        }),
      }),
      storage: async () => {
        if (driver.storage === undefined)
          throw new DriverError('unsupported', 'The driver has no storage of its own.');
        return driver.storage();
      },
      setPool: async ({ kinds }) => {
        const requests = kinds.map(({ spec, size }) => ({ spec: specFromWire(spec), size }));
        driver.setPool(checkPool(requests, await this.#mountSources()));
        return {};
      },
      poolReady: async () => {
        await driver.poolReady();
        return {};
      },
      close: async ({ destroyInstances }) => {
        await driver.close({ destroyInstances });
        this.#options.closed();
        return {};
      },
      listCheckpoints: async () => ({ checkpoints: await driver.listCheckpoints() }),
      deleteCheckpoint: async ({ checkpointId }) => {
        await driver.deleteCheckpoint(requireCheckpointId(checkpointId));
        return {};
      },
    } satisfies Partial<Handlers>;
  }

  #ofLayers() {
    const { layers } = this.#driver;
    return {
      importLayer: async (parts, context) => {
        const stream = parts[Symbol.asyncIterator]();
        const first = await stream.next();
        if (first.done === true || first.value.part.case !== 'start')
          throw toConnectError(new DriverError('invalid_spec', 'The call has no beginning.'), false);
        const { callId, limits } = first.value.part.value;
        return this.#cancellable(callId, context, async (signal) => ({
          layer: await layers.importTar(Readable.from(piecesOf(stream), { objectMode: false }), {
            limits: checkArchiveLimits(archiveLimitsFromWire(limits)),
            signal,
          }),
        }));
      },
      listLayers: async () => ({ layers: await layers.list() }),
      deleteLayer: async ({ id }) => {
        await layers.delete(requireLayerId(id));
        return {};
      },
    } satisfies Partial<Handlers>;
  }

  #ofInstances() {
    return {
      inspect: async ({ handle }) => {
        await this.#requireLiving(this.#handles.get(handle));
        return {};
      },
      freeze: async ({ handle }) => {
        await this.#handles.get(handle).freeze();
        return {};
      },
      thaw: async ({ handle }) => {
        await this.#handles.get(handle).thaw();
        return {};
      },
      stats: ({ handle }) => this.#handles.get(handle).stats(),
      checkpoint: ({ callId, handle, checkpointId, memory, destroy }, context) =>
        this.#cancellable(callId, context, async (signal) => {
          const { frozenMs, ...checkpoint } = await this.#handles.get(handle).checkpoint({
            checkpointId: requireCheckpointId(checkpointId),
            memory,
            then: destroy ? 'destroy' : 'continue',
            signal,
          });
          if (destroy) this.#handles.forget(handle);
          return { checkpoint, frozenMs };
        }),
      commitLayer: async ({ handle }) => ({ layer: await this.#handles.get(handle).commitLayer() }),
      destroy: async ({ handle }) => {
        await this.#handles.find(handle)?.destroy();
        this.#handles.forget(handle);
        return {};
      },
    } satisfies Partial<Handlers>;
  }

  #ofVolumes() {
    const volumes = () => {
      if (this.#driver.volumes === undefined)
        throw new DriverError('unsupported', 'The driver has no volumes of its own.');
      return this.#driver.volumes;
    };
    return {
      makeVolume: async ({ id, limitMib }) => {
        await volumes().make(id, checkVolumeLimit(limitMib));
        return {};
      },
      deleteVolume: async ({ id }) => {
        await volumes().delete(id);
        return {};
      },
      volumeUse: async ({ id }) => ({ bytes: await volumes().usedBytes(id) }),
    } satisfies Partial<Handlers>;
  }

  async #cancellable<T>(
    callId: string,
    { signal: connection }: HandlerContext,
    task: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#cancellations.run(callId, connection, async (signal) => {
      try {
        return await task(signal);
      } catch (error) {
        throw toConnectError(error, signal.aborted);
      }
    });
  }

  async #spec(spec: Spec | undefined): Promise<InstanceSpec> {
    return checkSpec(specFromWire(spec), await this.#mountSources());
  }

  /** Undefined: the driver refuses mounts by itself. */
  async #mountSources(): Promise<readonly string[] | undefined> {
    if (!this.#driver.capabilities.mounts) return undefined;
    const root = await this.#driver.volumes?.root();
    return [...this.#options.mountSources, ...(root === undefined ? [] : [root])];
  }

  #wire(instance: Instance) {
    return instanceToWire(this.#handles.of(instance), instance);
  }

  async #requireLiving({ id }: Instance): Promise<void> {
    const record = (await this.#driver.list()).find((each) => each.id === id);
    if (record === undefined || record.state === 'dead')
      throw new DriverError('instance_gone', 'The sandbox has ended.');
  }
}

async function* piecesOf(parts: AsyncIterator<ImportLayerRequest>): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { done, value } = await parts.next();
    if (done === true) return;
    if (value.part.case !== 'data')
      throw new DriverError('invalid_spec', 'A piece of an archive is expected.');
    yield value.part.value;
  }
}

import type { Readable } from 'node:stream';
import type { Client } from '@connectrpc/connect';
import type { Capabilities } from '../contract/capabilities.js';
import type {
  CreateOptions,
  Driver,
  DriverEgress,
  DriverOptions,
  ForwardedTraffic,
  ImportOptions,
  Layers,
  PoolGrowth,
  PoolRequest,
  PoolState,
  RefusedPackets,
  RestoreOptions,
  SentBytes,
  StorageUse,
} from '../contract/driver.js';
import { DriverError, driverClosed } from '../contract/errors.js';
import type { Instance, InstanceRecord, LayerInfo } from '../contract/instance.js';
import type { Transfers } from '../contract/transfers.js';
import type { Volumes } from '../contract/volumes.js';
import type {
  Driver as DriverService,
  Instance as InstanceMessage,
  WatchResponse,
} from '../gen/driver/driver_pb.js';
import { remoteEgress } from './egress.js';
import { RemoteCalls } from './remote-calls.js';
import { RemoteInstance } from './remote-instance.js';
import { machineFromWire, remoteTransfers } from './remote-transfers.js';
import { remoteVolumes } from './remote-volumes.js';
import { uploadOf } from './upload.js';
import { capabilitiesFromWire, endFromWire, recordFromWire, specToWire } from './wire.js';

export interface ConnectDriverOptions {
  /** Socket of `serveDriver`. */
  socketPath: string;
  token: string;
  /** Gets what the driver logs. */
  log?: DriverOptions['log'];
}

/** A driver of another process. */
export interface RemoteDriver extends Driver {
  /** Settles with the reason when the other process is lost before {@link Driver.close}. Never rejects. */
  readonly lost: Promise<Error>;
}

/**
 * Uses the driver of another process, see `serveDriver`.
 * @throws {DriverError} `unreachable` when nobody serves one there, or not to this process
 */
export async function connectDriver(options: ConnectDriverOptions): Promise<RemoteDriver> {
  const calls = RemoteCalls.overSocket(options);
  try {
    const watch = await calls.watch();
    const description = await calls.run((client, call) => client.describe({}, call));
    return new DriverOverSocket(calls, watch, description, options);
  } catch (error) {
    calls.end();
    throw error;
  }
}

type Description = Awaited<ReturnType<Client<typeof DriverService>['describe']>>;

class DriverOverSocket implements RemoteDriver {
  readonly name: string;
  readonly summary: string;
  readonly capabilities: Capabilities;
  readonly layers: Layers;
  readonly volumes: Volumes;
  readonly egress?: DriverEgress;
  readonly transfers?: Transfers;
  readonly storage?: () => Promise<StorageUse>;
  readonly refusedPackets?: () => Promise<RefusedPackets[]>;
  readonly sentBytes?: () => Promise<SentBytes[]>;
  readonly forwardedTraffic?: () => Promise<ForwardedTraffic[]>;
  readonly lost: Promise<Error>;
  readonly #calls: RemoteCalls;
  readonly #log: DriverOptions['log'];
  /** By handle. */
  readonly #instances = new Map<string, RemoteInstance>();
  #poolSet: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(
    calls: RemoteCalls,
    events: AsyncIterator<WatchResponse>,
    description: Description,
    options: ConnectDriverOptions,
  ) {
    this.#calls = calls;
    this.#log = options.log;
    this.name = description.name;
    this.summary = description.summary;
    this.capabilities = capabilitiesFromWire(description.capabilities);
    this.layers = remoteLayers(calls);
    this.volumes = remoteVolumes(calls);
    if (description.egress) this.egress = remoteEgress(options, calls.ended);
    if (description.machine !== undefined)
      this.transfers = remoteTransfers(calls, machineFromWire(description.machine));
    if (description.storage) this.storage = () => calls.run((client) => client.storage({}));
    if (description.refusedPackets)
      this.refusedPackets = async () => {
        const { counts } = await calls.run((client) => client.refusedPackets({}));
        return counts.map(({ instanceId, reason, packets }) => ({ instanceId, reason, packets }));
      };
    if (description.sentBytes)
      this.sentBytes = async () => {
        const { counts } = await calls.run((client) => client.sentBytes({}));
        return counts.map(({ instanceId, bytes }) => ({ instanceId, bytes }));
      };
    if (description.forwardedTraffic)
      this.forwardedTraffic = async () => {
        const { places } = await calls.run((client) => client.forwardedTraffic({}));
        return places.map(({ instanceId, address, port, connections, bytesSent, bytesReceived }) => ({
          ...{ instanceId, port, connections, bytesSent, bytesReceived },
          ...(address === undefined ? {} : { address }),
        }));
      };
    this.lost = this.#follow(events);
  }

  create({ id, spec, signal }: CreateOptions): Promise<Instance> {
    return this.#make(signal, (client, callId) => client.create({ callId, id, spec: specToWire(spec) }));
  }

  restore({ id, spec, checkpointId, memory, signal }: RestoreOptions): Promise<Instance> {
    return this.#make(signal, (client, callId) =>
      client.restore({ callId, id, spec: specToWire(spec), checkpointId, memory }),
    );
  }

  async list(): Promise<InstanceRecord[]> {
    const { instances } = await this.#calls.run((client) => client.list({}));
    return instances.map(recordFromWire);
  }

  async adopt(id: string): Promise<Instance | undefined> {
    const { instance } = await this.#calls.run((client) => client.adopt({ id }));
    return instance === undefined ? undefined : this.#hold(instance);
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    return (await this.#calls.run((client) => client.reap(keep))).removed;
  }

  async listCheckpoints(): Promise<{ id: string; memory: boolean; sizeBytes: number }[]> {
    const { checkpoints } = await this.#calls.run((client) => client.listCheckpoints({}));
    return checkpoints.map(({ id, memory, sizeBytes }) => ({ id, memory, sizeBytes }));
  }

  async deleteCheckpoint(checkpointId: string): Promise<void> {
    await this.#calls.run((client) => client.deleteCheckpoint({ checkpointId }));
  }

  setPool(requests: PoolRequest[], growth?: PoolGrowth): void {
    if (this.#closed) throw driverClosed();
    const kinds = requests.map(({ spec, size }) => ({ spec: specToWire(spec), size }));
    this.#poolSet = this.#poolSet
      .then(() =>
        this.#calls.run((client) =>
          client.setPool({ kinds, ...(growth && { growth: { memoryMib: growth.memoryMiB } }) }),
        ),
      )
      .catch((error: unknown) => this.#log?.('warn', 'the pool could not be set', { error: String(error) }));
  }

  async poolState(): Promise<PoolState> {
    const state = await this.#calls.run((client) => client.poolState({}));
    const { waiting, wanted, memoryBytes, hits, misses } = state;
    return { waiting, wanted, memoryBytes, hits, misses };
  }

  async poolReady(): Promise<void> {
    await this.#poolSet;
    await this.#calls.run((client) => client.poolReady({}));
  }

  async close({ destroyInstances = false }: { destroyInstances?: boolean } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      await this.#calls.run((client) => client.close({ destroyInstances }));
    } finally {
      this.#calls.end();
    }
  }

  async #make(
    signal: AbortSignal | undefined,
    call: (
      client: Client<typeof DriverService>,
      callId: string,
    ) => Promise<{ instance?: InstanceMessage | undefined }>,
  ): Promise<Instance> {
    const { instance } = await this.#calls.cancellable(signal, call);
    if (instance === undefined) throw new DriverError('unreachable', 'The sandbox runtime gave no sandbox.');
    return this.#hold(instance);
  }

  #hold(message: InstanceMessage): RemoteInstance {
    const { handle } = message;
    // Its end may have been reported before its beginning was.
    const known = this.#instances.get(handle) ?? new RemoteInstance(this.#calls, handle);
    if (!known.over) this.#instances.set(handle, known);
    else this.#instances.delete(handle);
    known.describe(message);
    return known;
  }

  async #follow(events: AsyncIterator<WatchResponse>): Promise<Error> {
    try {
      for (;;) {
        const { done, value } = await events.next();
        if (done === true) return lostError();
        this.#readEvent(value);
      }
    } catch (error) {
      return lostError(error);
    }
  }

  #readEvent({ event }: WatchResponse): void {
    if (event.case === 'log') {
      const { level, message, fields } = event.value;
      this.#log?.(level as 'info', message, JSON.parse(fields) as Record<string, unknown>);
    } else if (event.case === 'ended') {
      const { handle, reason } = event.value;
      const instance = this.#instances.get(handle);
      if (instance === undefined) {
        const early = new RemoteInstance(this.#calls, handle);
        early.end(endFromWire(reason));
        this.#instances.set(handle, early);
      } else {
        this.#instances.delete(handle);
        instance.end(endFromWire(reason));
      }
    }
  }
}

function lostError(cause?: unknown): DriverError {
  return new DriverError('unreachable', 'The sandbox runtime has ended.', { cause });
}

function remoteLayers(calls: RemoteCalls): Layers {
  return {
    async importTar(tar: Readable, { limits, signal }: ImportOptions = {}): Promise<LayerInfo> {
      const { layer } = await calls.cancellable(signal, (client, callId) =>
        client.importLayer(uploadOf({ callId, ...(limits === undefined ? {} : { limits }) }, tar)),
      );
      return { id: layer!.id, sizeBytes: layer!.sizeBytes };
    },
    async list() {
      const { layers } = await calls.run((client) => client.listLayers({}));
      return layers.map(({ id, sizeBytes }) => ({ id, sizeBytes }));
    },
    async delete(id) {
      await calls.run((client) => client.deleteLayer({ id }));
    },
  };
}

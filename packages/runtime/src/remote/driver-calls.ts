import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Driver } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance } from '../contract/instance.js';
import type { StatsResponse_OutcomeSchema } from '../gen/driver/driver_pb.js';
import { requireCheckpointId, requireInstanceId, requireLayerId } from '../shared/instance-id.js';
import { checkArchiveLimits, checkKept, checkPool, checkSpec, checkStatsHandles } from './check.js';
import type { DriverEvent } from './driver-log.js';
import { type CallContext, type DriverHandlers, done } from './handlers.js';
import { InstanceHandles } from './handles.js';
import { transferCalls } from './transfer-calls.js';
import { openUpload } from './upload.js';
import { volumeCalls } from './volume-calls.js';
import {
  archiveLimitsFromWire,
  CancelledError,
  failureToWire,
  instanceToWire,
  networkFromWire,
  specFromWire,
} from './wire.js';

type Handlers = Omit<DriverHandlers, 'watch'>;

export interface DriverCallsOptions {
  notify: (event: DriverEvent) => void;
  /** Called once the driver was closed. */
  closed: () => void;
}

/** The calls of a served driver. All input is checked here, regardless of the driver's own checks. */
export class DriverCalls {
  readonly #driver: Driver;
  readonly #handles: InstanceHandles;
  readonly #cancellations = new Cancellations();
  readonly #options: DriverCallsOptions;

  constructor(driver: Driver, options: DriverCallsOptions) {
    const { notify } = options;
    this.#driver = driver;
    this.#options = options;
    this.#handles = new InstanceHandles((handle, { reason }) =>
      notify({ case: 'ended', value: { handle, reason } }),
    );
  }

  handlers(): Handlers {
    return {
      ...this.#ofDriver(),
      ...this.#ofLayers(),
      ...this.#ofInstances(),
      ...volumeCalls(this.#driver.volumes),
      ...transferCalls(this.#driver.transfers, (...call) => this.#cancellable(...call)),
    };
  }

  #ofDriver() {
    const driver = this.#driver;
    return {
      describe: () => ({
        name: driver.name,
        summary: driver.summary,
        capabilities: driver.capabilities,
        storage: driver.storage !== undefined,
        egress: driver.egress !== undefined,
        refusedPackets: driver.refusedPackets !== undefined,
        forwardedTraffic: driver.forwardedTraffic !== undefined,
        sentBytes: driver.sentBytes !== undefined,
        ...(driver.transfers === undefined ? {} : { machine: driver.transfers.machine }),
      }),
      cancel: ({ callId }) => {
        this.#cancellations.cancel(callId);
        return {};
      },
      create: ({ callId, id, spec }, context) =>
        this.#cancellable(callId, context, async (signal) => ({
          instance: this.#wire(
            await driver.create({ id: requireInstanceId(id), spec: checkSpec(specFromWire(spec)), signal }),
          ),
        })),
      restore: ({ callId, id, spec, checkpointId, memory }, context) =>
        this.#cancellable(callId, context, async (signal) => ({
          instance: this.#wire(
            await driver.restore({
              id: requireInstanceId(id),
              spec: checkSpec(specFromWire(spec)),
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
      refusedPackets: async () => ({ counts: (await driver.refusedPackets?.()) ?? [] }),
      sentBytes: async () => ({ counts: (await driver.sentBytes?.()) ?? [] }),
      forwardedTraffic: async () => ({ places: (await driver.forwardedTraffic?.()) ?? [] }),
      setPool: async ({ kinds, growth }) => {
        const requests = kinds.map(({ spec, size }) => ({ spec: specFromWire(spec), size }));
        driver.setPool(checkPool(requests), growth && { memoryMiB: growth.memoryMib });
        return {};
      },
      poolState: () => driver.poolState(),
      poolReady: () => done(() => driver.poolReady()),
      close: async ({ destroyInstances }) => {
        await driver.close({ destroyInstances });
        this.#options.closed();
        return {};
      },
      listCheckpoints: async () => ({ checkpoints: await driver.listCheckpoints() }),
      deleteCheckpoint: ({ checkpointId }) =>
        done(() => driver.deleteCheckpoint(requireCheckpointId(checkpointId))),
    } satisfies Partial<Handlers>;
  }

  #ofLayers() {
    const { layers } = this.#driver;
    return {
      importLayer: async (parts, context) => {
        const { start, content } = await openUpload(parts);
        const { callId, limits } = start;
        return this.#cancellable(callId, context, async (signal) => ({
          layer: await layers.importTar(content, {
            limits: checkArchiveLimits(archiveLimitsFromWire(limits)),
            signal,
          }),
        }));
      },
      listLayers: async () => ({ layers: await layers.list() }),
      deleteLayer: ({ id }) => done(() => layers.delete(requireLayerId(id))),
    } satisfies Partial<Handlers>;
  }

  #ofInstances() {
    return {
      inspect: ({ handle }) => done(() => this.#requireLiving(this.#handles.get(handle))),
      freeze: ({ handle }) => done(() => this.#handles.get(handle).freeze()),
      thaw: ({ handle }) => done(() => this.#handles.get(handle).thaw()),
      setNetwork: ({ handle, egress }) =>
        done(() => this.#handles.get(handle).setNetwork(networkFromWire(egress))),
      setForwarded: ({ handle, ranges, exceptPorts }) =>
        done(async () => {
          const instance = this.#handles.get(handle);
          if (instance.setForwarded === undefined)
            throw new DriverError('unsupported', 'The driver forwards nothing by itself.');
          await instance.setForwarded({ ranges, exceptPorts });
        }),
      stats: async ({ handles }) => ({
        outcomes: await Promise.all(checkStatsHandles(handles).map((handle) => this.#stats(handle))),
      }),
      checkpoint: ({ callId, handle, checkpointId, memory, destroy, brief }, context) =>
        this.#cancellable(callId, context, async (signal) => {
          const { frozenMs, ...checkpoint } = await this.#handles.get(handle).checkpoint({
            checkpointId: requireCheckpointId(checkpointId),
            memory,
            then: destroy ? 'destroy' : 'continue',
            brief,
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

  async #stats(handle: string): Promise<MessageInitShape<typeof StatsResponse_OutcomeSchema>> {
    try {
      return { outcome: { case: 'stats', value: await this.#handles.get(handle).stats() } };
    } catch (error) {
      return { outcome: { case: 'failure', value: failureToWire(error) } };
    }
  }

  async #cancellable<T>(
    callId: string,
    { signal: connection }: CallContext,
    task: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#cancellations.run(callId, connection, async (signal) => {
      try {
        return await task(signal);
      } catch (error) {
        if (signal.aborted && !DriverError.is(error)) throw new CancelledError('The call was cancelled.');
        throw error;
      }
    });
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

/** Calls that may be cancelled by name while they run. */
class Cancellations {
  readonly #running = new Map<string, AbortController>();

  /**
   * Runs a task whose signal aborts when the call is cancelled or its connection is lost.
   * @param callId empty: the call cannot be cancelled.
   */
  async run<T>(
    callId: string,
    connection: AbortSignal,
    task: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const lose = () => controller.abort(connection.reason);
    if (connection.aborted) lose();
    // Not `AbortSignal.any`: the connection outlives its calls, and would remember each.
    connection.addEventListener('abort', lose, { once: true });
    if (callId !== '') this.#running.set(callId, controller);
    try {
      return await task(signal);
    } finally {
      connection.removeEventListener('abort', lose);
      if (this.#running.get(callId) === controller) this.#running.delete(callId);
    }
  }

  /** False: no such call runs. */
  cancel(callId: string): boolean {
    const controller = this.#running.get(callId);
    controller?.abort();
    return controller !== undefined;
  }
}

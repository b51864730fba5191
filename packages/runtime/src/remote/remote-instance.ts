import type { Duplex } from 'node:stream';
import type { IsolationLevel } from '../contract/capabilities.js';
import { DriverError } from '../contract/errors.js';
import type {
  Checkpoint,
  CheckpointOptions,
  ForwardedDestinations,
  Instance,
  InstanceEnd,
  InstanceNetwork,
  InstanceReach,
  InstanceStats,
  LayerInfo,
} from '../contract/instance.js';
import type { Instance as InstanceMessage } from '../gen/driver/driver_pb.js';
import { dialInstance } from '../shared/dial-instance.js';
import type { RemoteCalls } from './remote-calls.js';
import { isolationFromWire, reachFromWire } from './wire.js';

/** An instance of a driver in another process. Its ports are dialled from here, without that process. */
export class RemoteInstance implements Instance {
  readonly ended: Promise<InstanceEnd>;
  readonly #calls: RemoteCalls;
  readonly #handle: string;
  #id = '';
  #labels: Record<string, string> = {};
  #isolation: IsolationLevel | undefined;
  #reach: InstanceReach | undefined;
  #address: string | undefined;
  #finish!: (end: InstanceEnd) => void;
  #destroying: Promise<void> | undefined;
  #over = false;

  constructor(calls: RemoteCalls, handle: string) {
    this.#calls = calls;
    this.#handle = handle;
    this.ended = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  describe({ id, labels, reach, address, isolation }: InstanceMessage): void {
    this.#id = id;
    this.#address = address;
    this.#isolation = isolationFromWire(isolation);
    this.#labels = { ...labels };
    this.#reach = reachFromWire(reach);
  }

  get id(): string {
    return this.#id;
  }

  get labels(): Record<string, string> {
    return { ...this.#labels };
  }

  get reach(): InstanceReach | undefined {
    return this.#reach;
  }

  get isolation(): IsolationLevel | undefined {
    return this.#isolation;
  }

  get address(): string | undefined {
    return this.#address;
  }

  get over(): boolean {
    return this.#over;
  }

  end(end: InstanceEnd): void {
    this.#over = true;
    this.#finish(end);
  }

  async dial(port: number, { signal }: { signal?: AbortSignal } = {}): Promise<Duplex> {
    signal?.throwIfAborted();
    // Its address may be another instance's soon.
    if (this.#over || this.#destroying !== undefined)
      throw new DriverError('instance_gone', 'The sandbox has ended.');
    if (this.#reach === undefined)
      throw new DriverError('unsupported', 'The ports of the sandbox cannot be reached from this process.');
    try {
      return await dialInstance(this.#reach, port, signal);
    } catch (error) {
      if (DriverError.is(error)) await this.#calls.run((client) => client.inspect({ handle: this.#handle }));
      throw error;
    }
  }

  async freeze(): Promise<void> {
    await this.#calls.run((client) => client.freeze({ handle: this.#handle }));
  }

  async thaw(): Promise<void> {
    await this.#calls.run((client) => client.thaw({ handle: this.#handle }));
  }

  async setNetwork({ egress }: InstanceNetwork): Promise<void> {
    await this.#calls.run((client) => client.setNetwork({ handle: this.#handle, egress }));
  }

  async setForwarded(destinations: ForwardedDestinations): Promise<void> {
    await this.#calls.run((client) => client.setForwarded({ handle: this.#handle, ...destinations }));
  }

  stats(): Promise<InstanceStats> {
    return this.#calls.stats.of(this.#handle);
  }

  async checkpoint({
    checkpointId,
    memory,
    then,
    brief = false,
    signal,
  }: CheckpointOptions): Promise<Checkpoint> {
    const { checkpoint, frozenMs } = await this.#calls.cancellable(signal, (client, callId) =>
      client.checkpoint({
        callId,
        handle: this.#handle,
        checkpointId,
        memory,
        destroy: then === 'destroy',
        brief,
      }),
    );
    const { id, sizeBytes } = checkpoint!;
    return { id, memory: checkpoint!.memory, sizeBytes, frozenMs };
  }

  async commitLayer(): Promise<LayerInfo> {
    const { layer } = await this.#calls.run((client) => client.commitLayer({ handle: this.#handle }));
    return { id: layer!.id, sizeBytes: layer!.sizeBytes };
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy().catch((error: unknown) => {
      this.#destroying = undefined;
      throw error;
    });
    return this.#destroying;
  }

  async #destroy(): Promise<void> {
    await this.#calls.run((client) => client.destroy({ handle: this.#handle }));
  }
}

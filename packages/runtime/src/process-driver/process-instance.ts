import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { KeyedMutex } from '#support/keyed-mutex';
import { DriverError } from '../contract/errors.js';
import type {
  Checkpoint,
  CheckpointOptions,
  InstanceEnd,
  InstanceNetwork,
  InstanceReach,
  InstanceRecord,
  InstanceStats,
  LayerInfo,
} from '../contract/instance.js';
import { copyTree } from '../shared/copy-tree.js';
import { DAEMON_PORT, dialInstance } from '../shared/dial-instance.js';
import { requireCheckpointId } from '../shared/instance-id.js';
import type { RegisteredInstance } from '../shared/instance-registry.js';
import { signalProcess } from '../shared/process-family.js';
import { requireNetwork } from './capabilities.js';
import type { CheckpointStore } from './checkpoint-store.js';
import { removeTree } from './file-sets.js';
import type { LayerStore } from './layer-store.js';
import { continueTree, killTree, stopTree, type TreeRoot } from './process-tree.js';
import { StatsReader } from './read-stats.js';
import { describeRecord, isAlive, isLeftStopped, type StoredInstance, writeRecord } from './record.js';

/** The stores of instances. */
export interface Stores {
  layers: LayerStore;
  checkpoints: CheckpointStore;
}

/** The interval at which an adopted daemon, which is no child of ours, is looked at, ms. */
const WATCH_INTERVAL_MS = 500;

export interface ProcessInstanceOptions {
  record: StoredInstance;
  directory: string;
  stores: Stores;
  /** Present when this process started the daemon. */
  child?: ChildProcess;
  /** Called once when everything of the instance is deleted. */
  destroyed(): void;
}

/** An instance that is a daemon, its children and a directory. */
export class ProcessInstance implements RegisteredInstance {
  readonly ended: Promise<InstanceEnd>;
  readonly #options: ProcessInstanceOptions;
  readonly #mutex = new KeyedMutex();
  readonly #stats = new StatsReader();
  #record: StoredInstance;
  #onEnd!: (end: InstanceEnd) => void;
  #watch: NodeJS.Timeout | undefined;
  #destroying: Promise<void> | undefined;
  #over = false;

  constructor(options: ProcessInstanceOptions) {
    this.#options = options;
    this.#record = options.record;
    this.ended = new Promise((resolve) => {
      this.#onEnd = resolve;
    });
    if (options.child === undefined) {
      this.#watch = setInterval(() => {
        if (!isAlive(this.#record)) this.#daemonEnded();
      }, WATCH_INTERVAL_MS);
      this.#watch.unref();
    } else {
      options.child.once('exit', () => this.#daemonEnded());
      if (options.child.exitCode !== null || options.child.signalCode !== null) this.#daemonEnded();
    }
  }

  get id(): string {
    return this.#record.id;
  }

  get labels(): Record<string, string> {
    return { ...this.#record.labels };
  }

  get record(): StoredInstance {
    return this.#record;
  }

  get running(): boolean {
    return !this.#over && isAlive(this.#record);
  }

  get named(): boolean {
    return this.#record.phase === 'ready';
  }

  get layers(): readonly string[] {
    return this.#record.layers;
  }

  describe(): InstanceRecord {
    return describeRecord(this.#record, this.running);
  }

  get #root(): TreeRoot {
    return { home: this.#home, daemonPid: this.running ? this.#record.daemon?.pid : undefined };
  }

  get #home(): string {
    return join(this.#options.directory, 'home');
  }

  /** Names the instance and makes it known: from here on it outlives this process. */
  async acquire(fields: Pick<StoredInstance, 'id' | 'labels' | 'createdAtMs'>): Promise<void> {
    await this.#exclusively(async () => {
      await this.#save({ ...this.#record, ...fields, phase: 'ready' });
    });
  }

  get isolation(): 'none' {
    return 'none';
  }

  get reach(): InstanceReach {
    const { port } = this.#record.daemon!;
    return { daemon: { host: '127.0.0.1', port }, hosts: ['127.0.0.1', '::1'], tunnel: false };
  }

  async setNetwork(network: InstanceNetwork): Promise<void> {
    this.#requireAlive();
    requireNetwork(network);
  }

  async dial(port: number, options: { signal?: AbortSignal } = {}): Promise<Duplex> {
    this.#requireAlive();
    try {
      return await dialInstance(this.reach, port, options.signal);
    } catch (error) {
      // A refusal means that the daemon is going down; its end may not have been seen yet.
      throw DriverError.is(error) && port === DAEMON_PORT ? gone(error) : error;
    }
  }

  freeze(): Promise<void> {
    return this.#exclusively(async () => {
      this.#requireAlive();
      if (this.#record.frozen) return;
      // Written first: after a crash in between, a thaw of what was never stopped does no harm.
      await this.#save({ ...this.#record, frozen: true, stoodBefore: [] });
      const stoodBefore = stopTree(this.#root);
      if (stoodBefore.length > 0) await this.#save({ ...this.#record, stoodBefore });
    });
  }

  thaw(): Promise<void> {
    return this.#exclusively(async () => {
      this.#requireAlive();
      if (!this.#record.frozen && !isLeftStopped(this.#record)) return;
      continueTree(this.#root, this.#record.stoodBefore);
      await this.#save({ ...this.#record, frozen: false, held: false, stoodBefore: [] });
    });
  }

  /** Stops the daemon alone. Right only while it has no children: in the pool. */
  async park(): Promise<void> {
    await this.#save({ ...this.#record, frozen: true });
    if (this.#record.daemon !== undefined) signalProcess(this.#record.daemon.pid, 'SIGSTOP');
  }

  /** Undoes {@link park}. */
  async unpark(): Promise<void> {
    this.#record = { ...this.#record, frozen: false };
    if (this.#record.daemon !== undefined) signalProcess(this.#record.daemon.pid, 'SIGCONT');
  }

  async stats(): Promise<InstanceStats> {
    this.#requireAlive();
    return this.#stats.read(this.#root);
  }

  async checkpoint(options: CheckpointOptions): Promise<Checkpoint> {
    if (options.memory) {
      throw new DriverError('unsupported', 'This driver cannot store the memory of a sandbox.');
    }
    const id = requireCheckpointId(options.checkpointId);
    const checkpoint = await this.#exclusively(async () => {
      this.#requireAlive();
      const { checkpoints } = this.#options.stores;
      let frozenMs = 0;
      const { sizeBytes } = await checkpoints.claim(id, () =>
        checkpoints.sets.add(id, {
          info: { memory: false, layers: this.#record.layers },
          durable: options.then === 'destroy',
          fill: async (files) => {
            frozenMs = await this.#whileStopped(() => copyTree(this.#home, files, options.signal));
          },
        }),
      );
      return { id, memory: false, sizeBytes, frozenMs };
    });
    if (options.then === 'destroy') await this.destroy();
    return checkpoint;
  }

  commitLayer(): Promise<LayerInfo> {
    return this.#exclusively(async () => {
      this.#requireAlive();
      return this.#options.stores.layers.commit(async (files) => {
        await this.#whileStopped(() => copyTree(this.#home, files));
      });
    });
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy().catch((error) => {
      this.#destroying = undefined;
      throw error;
    });
    return this.#destroying;
  }

  /** Forgets the instance without touching it. */
  release(): void {
    clearInterval(this.#watch);
  }

  async #destroy(): Promise<void> {
    this.#onEnd({ reason: 'destroyed' });
    await killTree(this.#root);
    this.#over = true;
    clearInterval(this.#watch);
    // The holder of the turn fails soon, its processes being dead; the directory must not be removed under it.
    await this.#exclusively(() => removeTree(this.#options.directory));
    this.#options.destroyed();
  }

  #daemonEnded(): void {
    if (this.#over || this.#destroying !== undefined) return;
    this.#over = true;
    clearInterval(this.#watch);
    this.#onEnd({ reason: 'exited' });
    // Without its daemon nothing inside can be reached any more, so nothing inside may continue.
    killTree(this.#root).catch(() => undefined);
  }

  async #whileStopped(task: () => Promise<void>): Promise<number> {
    const startMs = performance.now();
    if (this.#record.frozen) {
      await task();
      return performance.now() - startMs;
    }
    // Recorded first: a driver that finds this after a crash in between resumes the instance.
    await this.#save({ ...this.#record, frozen: true, held: true, stoodBefore: [] });
    const stoodBefore = stopTree(this.#root);
    try {
      if (stoodBefore.length > 0) await this.#save({ ...this.#record, stoodBefore });
      await task();
    } finally {
      continueTree(this.#root, stoodBefore);
      await this.#save({ ...this.#record, frozen: false, held: false, stoodBefore: [] });
    }
    return performance.now() - startMs;
  }

  async #save(record: StoredInstance): Promise<void> {
    await writeRecord(this.#options.directory, record);
    this.#record = record;
  }

  #requireAlive(): void {
    if (this.#destroying !== undefined || !this.running) throw gone();
  }

  #exclusively<T>(task: () => Promise<T>): Promise<T> {
    return this.#mutex.run('state', task);
  }
}

function gone(cause?: unknown): DriverError {
  return new DriverError('instance_gone', 'The sandbox is not running any more.', { cause });
}

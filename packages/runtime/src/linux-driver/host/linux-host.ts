import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { saysDiskFull } from '#support/disk-full';
import { isSameProcess } from '#support/process-identity';
import { quote } from '#support/quote';
import { DriverError } from '../../contract/errors.js';
import { raiseHostLimits } from '../../host/host-limits.js';
import type { Tools } from '../../host/tools.js';
import { Background } from '../../shared/background.js';
import type { RunResult } from '../../shared/run.js';
import { type Budget, budgetOf, readHostMemory, readPidMax } from '../cgroups/admission.js';
import { Cgroups } from '../cgroups/cgroups.js';
import { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { Network } from '../network/network.js';
import { MAKE_SYS } from '../oci/hidden-paths.js';
import { type Agent, prepareAgent } from '../rootfs/agent.js';
import { MAKE_BASE_ROOT } from '../rootfs/base-root.js';
import { isDirectory } from '../rootfs/inside-layer.js';
import type { LayerFacts } from '../rootfs/root-plan.js';
import type { LinuxDriverOptions } from '../state/options.js';
import { type Paths, pathsOf } from '../state/paths.js';
import { type InstanceEntry, Records } from '../state/records.js';
import { SpaceGuard } from '../store/space-guard.js';
import { Store } from '../store/store.js';

/** What the driver has on this host, brought up when first needed and again when it was torn down. */
export class LinuxHost {
  readonly options: LinuxDriverOptions;
  readonly paths: Paths;
  readonly cgroups: Cgroups;
  readonly records: Records;
  readonly store: Store;
  readonly network: Network;
  readonly space: SpaceGuard;
  /** Removal of what ended, for which nobody waits. */
  readonly background: Background;
  /** What all sandboxes together may use. */
  budget: Budget;
  /** Path of the OCI runtime, and of the one that starts fresh instances. */
  readonly runtime: string;
  readonly starter: string;
  /** Private CRIU's directory, when there is one that suits. */
  readonly criu: string | undefined;
  agent: Agent | undefined;
  /** Limits of the host that stand in the way of many sandboxes, as sentences. */
  limitProblems: string[] = [];
  #keeper: NamespaceKeeper | undefined;
  #rising: Promise<NamespaceKeeper> | undefined;

  constructor(options: LinuxDriverOptions, tools: Pick<Tools, 'runtime' | 'starter' | 'criu'>) {
    this.options = options;
    this.paths = pathsOf(options.dataDir);
    this.runtime = tools.runtime;
    this.starter = tools.starter;
    this.criu = tools.criu;
    this.cgroups = new Cgroups(this.paths.tag);
    mkdirSync(this.paths.oci, { recursive: true, mode: 0o700 });
    this.records = new Records(this.paths.instances);
    this.store = new Store(this.paths, options.storeSizeMiB);
    this.network = new Network(this.paths, options.network ?? {});
    this.background = new Background((error) =>
      this.log('warn', 'clean-up failed', { error: String(error) }),
    );
    this.space = new SpaceGuard(this);
    this.budget = budgetOf(
      { totalMemoryBytes: readHostMemory().totalBytes, pidMax: readPidMax() },
      options.maxMemoryMiB,
    );
  }

  now(): number {
    return (this.options.now ?? Date.now)();
  }

  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void {
    this.options.log?.(level, message, fields);
  }

  /** The keeper with store and network behind it, or undefined while nothing is up. */
  get current(): NamespaceKeeper | undefined {
    return this.#keeper?.alive === true ? this.#keeper : undefined;
  }

  /** Brings everything up that is not. */
  up(): Promise<NamespaceKeeper> {
    const keeper = this.current;
    if (keeper !== undefined) return Promise.resolve(keeper);
    this.#rising ??= this.#rise().finally(() => {
      this.#rising = undefined;
    });
    return this.#rising;
  }

  async #rise(): Promise<NamespaceKeeper> {
    await this.release();
    const found = NamespaceKeeper.find(this.paths);
    const keeper = found ?? (await NamespaceKeeper.start(this.paths));
    try {
      this.limitProblems = raiseHostLimits((message, fields) => this.log('info', message, fields));
      this.budget = budgetOf(
        { totalMemoryBytes: readHostMemory().totalBytes, pidMax: readPidMax() },
        this.options.maxMemoryMiB,
      );
      this.cgroups.prepare(this.budget);
      await this.store.mount(keeper);
      await this.inStore(keeper, `${MAKE_SYS}\n${MAKE_BASE_ROOT}`, 'create_failed', 60_000);
      this.agent = await prepareAgent(keeper.view(join(this.paths.store, 'agents')), this.options.daemon);
      await this.network.prepare(keeper, found === undefined);
      if (found === undefined) await this.#replumb(keeper);
    } catch (error) {
      if (found === undefined) {
        await this.network.remove(keeper).catch(() => undefined);
        keeper.stop(this.paths);
      }
      await keeper.release();
      throw error;
    }
    this.#keeper = keeper;
    await this.space.adjust();
    return keeper;
  }

  /** The gateway went down with the former keeper: sandboxes that still run need their cables again. */
  async #replumb(keeper: NamespaceKeeper): Promise<void> {
    for (const entry of this.records.all()) {
      if (!isRunning(entry)) continue;
      await keeper.script(`PID=${entry.pid}\n${this.network.plumb(entry.slot, entry.spec.network)}`, {
        timeoutMs: 20_000,
      });
    }
  }

  /** Runs a script in the store's directory. @throws {DriverError} `code` when it fails, `timeout`, `storage_full`. */
  async inStore(
    keeper: NamespaceKeeper,
    script: string,
    code: 'create_failed' | 'restore_failed',
    timeoutMs: number,
  ): Promise<RunResult> {
    const result = await keeper.script(`cd ${quote(this.paths.store)} || exit 9\n${script}`, { timeoutMs });
    if (result.code === 0) return result;
    const detail = `${result.stdout}\n${result.stderr}`.trim().slice(-4000);
    if (result.timedOut) throw new DriverError('timeout', 'The host took too long.', { detail });
    if (saysDiskFull(detail)) {
      throw new DriverError('storage_full', 'The storage of the sandboxes is full.', { detail });
    }
    throw new DriverError(code, 'The sandbox could not be made.', { detail });
  }

  /** A path in the store, as this process sees it. */
  view(keeper: NamespaceKeeper, path: string): string {
    return keeper.view(join(this.paths.store, path));
  }

  layerFacts(keeper: NamespaceKeeper, id: string): (LayerFacts & { sizeBytes: number }) | undefined {
    try {
      const layer = this.view(keeper, `l/${id}`);
      const facts = JSON.parse(readFileSync(`${layer}/layer.json`, 'utf8'));
      // Looked at anew: what is mounted must be a directory of the layer, whoever made it.
      return { ...facts, hasUsr: isDirectory(`${layer}/root/usr`) };
    } catch {
      return undefined;
    }
  }

  /** PATH for the OCI runtime: it runs the first `criu` it finds. */
  get runtimePath(): string {
    return this.criu === undefined ? '' : `PATH=${quote(this.criu)}:$PATH; export PATH\n`;
  }

  /** Lets go of the host: what stands there stays. */
  async release(): Promise<void> {
    await this.#keeper?.release();
  }

  /** Takes down what stands on the host, once no instance is left. Paused ones (checkpoints) stay in the store. */
  async down(): Promise<void> {
    const keeper = this.current ?? NamespaceKeeper.find(this.paths);
    if (keeper !== undefined) {
      await this.network.remove(keeper);
      // Unmounting before the namespace goes frees the loop device now and not some time later.
      await keeper.script(`umount ${quote(this.paths.store)} || umount -l ${quote(this.paths.store)}`, {
        timeoutMs: 30_000,
      });
      await keeper.release();
      keeper.stop(this.paths);
      const deadline = Date.now() + 5_000;
      while (keeper.alive && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.#keeper = undefined;
    await this.cgroups.removeParent();
    if (existsSync(this.paths.networkFile)) rmSync(this.paths.networkFile, { force: true });
  }
}

/** Whether the recorded init process still runs. */
export function isRunning(entry: InstanceEntry): boolean {
  return entry.pid !== undefined && entry.start !== undefined && isSameProcess(entry.pid, entry.start);
}

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess } from '#support/process-identity';
import { type Agent, prepareAgent, preparePrograms } from '../../agent/agent.js';
import { nodeProgram } from '../../agent/host-programs.js';
import type { Isolation } from '../../contract/capabilities.js';
import { DriverError, driverClosed } from '../../contract/errors.js';
import { baseDirectory, chosenBaseRoot } from '../../host/base-root.js';
import { raiseHostLimits } from '../../host/host-limits.js';
import type { Tools } from '../../host/tools.js';
import { Background } from '../../shared/background.js';
import { VolumeProcess } from '../../volume-process/volume-process.js';
import { type Budget, budgetOf, readHostMemory, readPidMax } from '../cgroups/admission.js';
import { Cgroups } from '../cgroups/cgroups.js';
import { EgressGroup } from '../egress/egress-group.js';
import { EgressProcess } from '../egress/egress-process.js';
import { releaseBlock } from '../ids/claim-block.js';
import type { IdRanges } from '../ids/id-ranges.js';
import { openRanges } from '../ids/open-ranges.js';
import { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { Network } from '../network/network.js';
import { SYS, SYS_DIRECTORIES } from '../oci/hidden-paths.js';
import { Bases } from '../rootfs/bases.js';
import { ShareFiles } from '../rootfs/share-files.js';
import { INSTANCES } from '../state/mount-points.js';
import type { LinuxDriverOptions } from '../state/options.js';
import { type Paths, pathsOf } from '../state/paths.js';
import { type InstanceEntry, Records } from '../state/records.js';
import { SpaceGuard } from '../store/space-guard.js';
import { Store } from '../store/store.js';

/** The driver's resources on this host, brought up when first needed and again when they were torn down. */
export class LinuxHost {
  readonly options: LinuxDriverOptions;
  readonly paths: Paths;
  readonly cgroups: Cgroups;
  readonly records: Records;
  readonly store: Store;
  readonly network: Network;
  /** Absent: nobody asked for one. */
  readonly egress: EgressProcess | undefined;
  /** The reason why no sandbox can have a network policy. Undefined: they can. */
  governProblem: string | undefined;
  readonly space: SpaceGuard;
  /** Works on files of volumes, without this process's rights. */
  readonly volumeProcess: VolumeProcess;
  readonly bases: Bases;
  /** The files that show instances their own share of the host. */
  readonly shares: ShareFiles;
  /** Removal of what ended, for which nobody waits. */
  readonly background: Background;
  /** The resources for all sandboxes together. */
  budget: Budget;
  /** Path of the OCI runtime, and of the one that starts fresh instances. */
  readonly runtime: string;
  readonly starter: string;
  /** Private CRIU's directory, when there is one that suits. */
  readonly criu: string | undefined;
  /** The isolation level of new instances from the host's kernel. */
  readonly isolation: Isolation;
  /** Instances that somebody has by their id; the driver knows. */
  named: () => Iterable<InstanceEntry> = () => [];
  agent: Agent | undefined;
  /** Node with its libraries, for the egress process. */
  node: Agent | undefined;
  /** Ranges of host ids, one for each instance. Undefined: all have the host's. */
  ids: IdRanges | undefined;
  /** Why there are none. */
  idsProblem: string | undefined;
  /** Limits of the host that prevent many sandboxes, as sentences. */
  limitProblems: string[] = [];
  #keeper: NamespaceKeeper | undefined;
  #rising: Promise<NamespaceKeeper> | undefined;
  #closed = false;

  constructor(
    options: LinuxDriverOptions,
    tools: Pick<Tools, 'runtime' | 'starter' | 'criu'> & { baseRecipe: string },
  ) {
    this.options = options;
    this.paths = pathsOf(options.dataDir);
    this.runtime = tools.runtime;
    this.starter = tools.starter;
    this.criu = tools.criu;
    this.isolation = options.isolation ?? 'container';
    this.cgroups = new Cgroups(this.paths.tag);
    mkdirSync(this.paths.oci, { recursive: true, mode: 0o700 });
    this.records = new Records(this.paths.instances);
    this.store = new Store(this.paths, options.storeSizeMiB);
    this.bases = new Bases({
      directory: baseDirectory(options),
      recipe: tools.baseRecipe,
      fresh: chosenBaseRoot(options),
      paths: this.paths,
    });
    this.network = new Network(this.paths, options.network ?? {});
    if (options.egress !== undefined)
      this.egress = new EgressProcess({
        program: options.egress,
        allowRanges: options.network?.allowRanges ?? [],
        group: new EgressGroup(this.paths.tag),
        log: (level, message, fields) => this.log(level, message, fields),
      });
    this.background = new Background((error) =>
      this.log('warn', 'clean-up failed', { error: String(error) }),
    );
    this.space = new SpaceGuard({
      store: this.store,
      paths: this.paths,
      reserveMiB: options.reserveMiB,
      background: this.background,
      log: (level, message, fields) => this.log(level, message, fields),
    });
    this.shares = new ShareFiles({
      keeper: () => this.current,
      usage: (name) => this.cgroups.usage(name),
      cpuUsageUs: (name) => this.cgroups.cpuUsageUs(name),
      named: () => this.named(),
    });
    this.budget = budgetOf(
      { totalMemoryBytes: readHostMemory().totalBytes, pidMax: readPidMax() },
      options.maxMemoryMiB,
    );
    this.volumeProcess = new VolumeProcess(async () => {
      const keeper = await this.up();
      return { directory: this.#volumesPath(), enter: (command) => keeper.enter(command) };
    });
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

  /** Brings everything up that is not. @throws {DriverError} `closed` */
  async up(): Promise<NamespaceKeeper> {
    if (this.#closed) throw driverClosed();
    const keeper = this.current;
    if (keeper !== undefined) return keeper;
    this.#rising ??= this.#rise().finally(() => {
      this.#rising = undefined;
    });
    return this.#rising;
  }

  async #rise(): Promise<NamespaceKeeper> {
    await this.#keeper?.release();
    await this.volumeProcess.end();
    const found = NamespaceKeeper.find(this.paths);
    const keeper = found ?? (await NamespaceKeeper.start(this.paths));
    try {
      this.limitProblems = raiseHostLimits((message, fields) => this.log('info', message, fields));
      this.budget = budgetOf(
        { totalMemoryBytes: readHostMemory().totalBytes, pidMax: readPidMax() },
        this.options.maxMemoryMiB,
      );
      this.cgroups.prepare(this.budget);
      await this.store.mount(keeper, ['/usr', baseDirectory(this.options)]);
      for (const path of [SYS, ...SYS_DIRECTORIES, INSTANCES]) keeper.makeDirectory(path);
      await this.store.run({ name: 'base_root_make' }, { timeoutMs: 60_000 });
      await this.store.run({ name: 'writable_of_skeleton' }, { timeoutMs: 60_000 });
      await this.#openIds();
      this.agent = await prepareAgent(this.store.view('agents'), this.options.daemon);
      await this.network.prepare(keeper, found === undefined);
      await this.#startEgress(keeper);
      if (found === undefined) await this.#attachRunning(keeper);
      else
        await this.network.enforce(
          keeper,
          this.records.all().map(({ lease, spec }) => ({ lease, network: spec.network })),
        );
    } catch (error) {
      await this.egress?.stop();
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

  /** Without it sandboxes still run, and those of the internet resolve names without it. */
  async #startEgress(keeper: NamespaceKeeper): Promise<void> {
    this.governProblem =
      this.egress === undefined ? 'There is no egress process.' : this.network.redirectProblem;
    if (this.egress === undefined || this.governProblem !== undefined) return;
    try {
      this.node = await preparePrograms(this.store.view('agents'), await nodeProgram());
      await this.egress.start({ keeper, node: join(this.paths.store, 'agents', this.node.name) });
    } catch (error) {
      if (!DriverError.is(error)) throw error;
      this.governProblem = error.message;
    }
    this.network.resolves = this.governProblem === undefined;
  }

  async #openIds(): Promise<void> {
    if (this.ids !== undefined) return;
    const opened = await openRanges({
      store: this.store,
      paths: this.paths,
      runtime: this.runtime,
      base: this.bases.current === undefined ? undefined : this.bases.treeOf(this.bases.current),
      pool: this.options.ids,
      inUse: this.records.all().some(({ firstId }) => firstId !== undefined),
    });
    this.ids = 'ranges' in opened ? opened.ranges : undefined;
    this.idsProblem = 'problem' in opened ? opened.problem : undefined;
    if ('problem' in opened) this.log('warn', opened.problem, { detail: opened.detail });
  }

  /** The gateway went down with the former keeper: sandboxes that still run need their veth pairs again. */
  async #attachRunning(keeper: NamespaceKeeper): Promise<void> {
    for (const entry of this.records.all()) {
      if (!isRunning(entry)) continue;
      if (entry.isolation === 'gvisor') {
        // gVisor's kernel took over the old pair and would not look at a new one.
        this.log('warn', 'a sandbox ends that lost its network', { instance: entry.name });
        this.cgroups.kill(entry.name);
        continue;
      }
      await this.network.attach(keeper, entry.pid!, entry.lease, entry.spec.network);
    }
  }

  /** Path of a volume in the keeper's namespace. */
  volumePath(id: string): string {
    return join(this.#volumesPath(), id);
  }

  #volumesPath(): string {
    return this.store.kind === 'btrfs' ? join(this.paths.store, 'v') : this.paths.volumes;
  }

  /** Releases the host for good: its instances stay. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.egress?.stop();
    await this.volumeProcess.close();
    await this.#keeper?.release();
  }

  /** Takes down what stands on the host, once no instance is left. Paused ones (checkpoints) stay in the store. */
  async down(): Promise<void> {
    await this.egress?.stop();
    const keeper = this.current ?? NamespaceKeeper.find(this.paths);
    await this.volumeProcess.end();
    if (keeper !== undefined) {
      await this.network.remove(keeper);
      await this.store.unmount(keeper);
      await keeper.release();
      keeper.stop(this.paths);
      const deadline = Date.now() + 5_000;
      while (keeper.alive && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.#keeper = undefined;
    await this.cgroups.removeParent();
    if (this.ids !== undefined) releaseBlock(this.paths);
    this.ids = undefined;
    if (existsSync(this.paths.networkFile)) rmSync(this.paths.networkFile, { force: true });
  }
}

/** Returns true if the recorded init process still runs. */
export function isRunning(entry: InstanceEntry): boolean {
  return entry.pid !== undefined && entry.start !== undefined && isSameProcess(entry.pid, entry.start);
}

/**
 * Returns true if a process of that number still exists. A tenth of the price of {@link isRunning}, and wrong for a zombie and
 * once the number belongs to another process.
 */
export function mayRun(entry: InstanceEntry): boolean {
  if (entry.pid === undefined) return false;
  try {
    return process.kill(entry.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

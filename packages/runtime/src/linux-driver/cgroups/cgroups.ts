import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '../../contract/errors.js';
import { readText } from '../../shared/read-text.js';
import type { OciConfig } from '../oci/oci-config.js';
import type { Budget } from './admission.js';
import { moveProcesses, parseCgroupMounts, walk } from './cgroup-files.js';

const CONTROLLERS_V2 = ['cpu', 'memory', 'pids', 'io'];
/** Hierarchies that limit, count or freeze; in the others an instance stays where its server is. */
const CONTROLLERS_V1 = ['cpu', 'cpuacct', 'memory', 'pids', 'devices', 'freezer'];

/** OCI runtimes allow these in addition to the configured ones: to make nodes, which a user namespace permits to nobody, and the console. */
const ALSO_ALLOWED = ['c *:* m', 'b *:* m', 'c 5:1 rwm'];

/** The cgroups of one driver, on v1 (hybrid too) and v2 hosts. */
export class Cgroups {
  readonly version: 1 | 2;
  /** Swap can be limited. */
  readonly swapAccounting: boolean;
  /** Below the mount point of each hierarchy: what goes into the OCI configuration, without the instance's name. */
  readonly parent: string;
  /** v1: controller to mount point. v2: the key is ''. */
  readonly #mounts: Map<string, string>;

  constructor(tag: string, mountinfo = readFileSync('/proc/self/mountinfo', 'utf8')) {
    this.parent = `/svc-${tag}`;
    const found = parseCgroupMounts(mountinfo);
    this.version = found.v1.has('freezer') && found.v1.has('memory') ? 1 : 2;
    this.#mounts = this.version === 1 ? found.v1 : new Map(found.v2 === undefined ? [] : [['', found.v2]]);
    if (this.#mounts.size === 0) {
      throw new DriverError('unsupported', 'No cgroup hierarchy is mounted on this host.');
    }
    this.swapAccounting =
      this.version === 2 || existsSync(join(this.#mounts.get('memory')!, 'memory.memsw.limit_in_bytes'));
  }

  /** Makes the driver's own cgroup ready to hold limited ones, and limits them all together. */
  prepare(budget: Budget): void {
    if (this.version === 2) this.#delegate();
    const set = (controller: string, file: string, value: string | number) => {
      const directory = this.#parentDirectory(controller);
      try {
        mkdirSync(directory, { recursive: true });
        writeFileSync(join(directory, file), String(value));
      } catch {
        // More is in use than that, or the kernel does not have it: sandboxes are then limited each for itself only.
      }
    };
    if (this.version === 1) {
      set('memory', 'memory.limit_in_bytes', budget.memoryBytes);
      set('pids', 'pids.max', budget.pids);
      // Where disks are scheduled by weight (bfq), half of what the service has.
      set('blkio', 'blkio.bfq.weight', 50);
      return;
    }
    set('', 'memory.max', budget.memoryBytes);
    set('', 'pids.max', budget.pids);
    // Where disks are scheduled by weight, half of what the service has.
    set('', 'io.weight', 'default 50');
    set('', 'io.bfq.weight', 50);
  }

  /** The use of all instances together; files that the kernel only keeps because there is room do not count. */
  total(): { memoryBytes: number; pids: number } {
    const read = (controller: string, file: string) =>
      readText(join(this.#parentDirectory(controller), file)) ?? '';
    const stat = read('memory', 'memory.stat');
    const prefix = this.version === 1 ? 'total_' : '';
    const field = (name: string) => Number(new RegExp(`^${prefix}${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
    const used = Number(read('memory', this.version === 1 ? 'memory.usage_in_bytes' : 'memory.current'));
    return {
      memoryBytes: Math.max(0, used - field('inactive_file') - field('active_file')),
      pids: Number(read('pids', 'pids.current')),
    };
  }

  /** Hands the controllers of v2 down to the driver's own cgroup. */
  #delegate(): void {
    const root = this.#mounts.get('')!;
    for (const directory of [root, join(root, this.parent)]) {
      mkdirSync(directory, { recursive: true });
      for (const controller of CONTROLLERS_V2) {
        try {
          writeFileSync(join(directory, 'cgroup.subtree_control'), `+${controller}`);
        } catch (error) {
          // In a container the root may hold processes; a controller is only handed down once they sit in a leaf.
          if ((error as NodeJS.ErrnoException).code !== 'EBUSY') continue;
          moveProcesses(directory, join(directory, 'svc-others'));
          try {
            writeFileSync(join(directory, 'cgroup.subtree_control'), `+${controller}`);
          } catch {
            // Without this controller its limit is missing; the runtime says so when it is asked for.
          }
        }
      }
    }
  }

  pathOf(name: string): string {
    return `${this.parent}/${name}`;
  }

  /** Where the processes of an instance are frozen, in the file system. */
  freezerOf(name: string): string {
    return this.#directory('freezer', name);
  }

  /**
   * Makes the cgroup of an instance and sets its limits. On v2 those of devices are missing: a program in the kernel rules
   * over them, which the OCI runtime writes. What enters such a cgroup must have other bounds.
   */
  make(name: string, { memory, cpu, pids, devices }: OciConfig['linux']['resources']): void {
    const set = (controller: string, file: string, value: string | number | undefined) => {
      if (value !== undefined) writeFileSync(join(this.#directory(controller, name), file), String(value));
    };
    for (const directory of this.directoriesOf(name)) mkdirSync(directory, { recursive: true });
    if (this.version === 2) {
      set('', 'memory.max', memory?.limit);
      set('', 'memory.swap.max', memory?.swap === undefined ? undefined : memory.swap - memory.limit);
      set('', 'cpu.max', cpu === undefined ? undefined : `${cpu.quota} ${cpu.period}`);
      set('', 'pids.max', pids?.limit);
      return;
    }
    set('memory', 'memory.limit_in_bytes', memory?.limit);
    set('memory', 'memory.memsw.limit_in_bytes', memory?.swap);
    set('cpu', 'cpu.cfs_period_us', cpu?.period);
    set('cpu', 'cpu.cfs_quota_us', cpu?.quota);
    set('pids', 'pids.max', pids?.limit);
    set('devices', 'devices.deny', 'a');
    for (const device of devices) {
      if (!('type' in device)) continue;
      set(
        'devices',
        'devices.allow',
        `${device.type} ${device.major}:${device.minor ?? '*'} ${device.access}m`,
      );
    }
    for (const rule of ALSO_ALLOWED) set('devices', 'devices.allow', rule);
  }

  /** Directories of an instance's cgroup: on v1 one in each hierarchy that matters. */
  directoriesOf(name: string): string[] {
    if (this.version === 2) return [this.#directory('', name)];
    return CONTROLLERS_V1.filter((controller) => this.#mounts.has(controller)).map((controller) =>
      this.#directory(controller, name),
    );
  }

  /** Names of the cgroups under the driver's own one, of living instances or leaked. */
  names(): string[] {
    const names = new Set<string>();
    for (const mount of this.#mounts.values()) {
      try {
        for (const entry of readdirSync(join(mount, this.parent), { withFileTypes: true })) {
          if (entry.isDirectory()) names.add(entry.name);
        }
      } catch {
        // Not made in this hierarchy.
      }
    }
    return [...names];
  }

  pids(name: string): number[] {
    const pids = new Set<number>();
    for (const directory of walk(this.#directory('freezer', name))) {
      for (const line of (readText(join(directory, 'cgroup.procs')) ?? '').split('\n')) {
        if (line !== '') pids.add(Number(line));
      }
    }
    return [...pids];
  }

  /** @throws {DriverError} `timeout` when some process cannot be stopped in time. */
  async freeze(name: string, timeoutMs = 5_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    for (let round = 0; ; round += 1) {
      this.#writeFreezer(name, true);
      const giveUpAt = Math.min(deadline, Date.now() + 100 + round * 50);
      for (;;) {
        if (this.frozen(name)) return;
        if (Date.now() > giveUpAt) break;
        await sleep(1);
      }
      // A parent inside vfork cannot stop before its child has continued: let them run and try again.
      this.#writeFreezer(name, false);
      if (Date.now() > deadline) {
        throw new DriverError('timeout', 'The sandbox could not be stopped where it stands.');
      }
      await sleep(5 + round * 5);
    }
  }

  thaw(name: string): void {
    this.#writeFreezer(name, false);
  }

  frozen(name: string): boolean {
    const directory = this.#directory('freezer', name);
    if (this.version === 1) return readText(join(directory, 'freezer.state'))?.trim() === 'FROZEN';
    return /^frozen 1$/m.test(readText(join(directory, 'cgroup.events')) ?? '');
  }

  /** Kills everything in the cgroup, frozen or not. */
  kill(name: string): void {
    if (this.version === 2) {
      try {
        writeFileSync(join(this.#directory('', name), 'cgroup.kill'), '1');
      } catch {
        // Kernels before 5.14 do not have it.
      }
    }
    for (const pid of this.pids(name)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
    }
    try {
      this.thaw(name);
    } catch {
      // No cgroup, nothing to thaw.
    }
  }

  /** The number of processes that the memory limit killed. */
  oomKills(name: string): number {
    const file = this.version === 1 ? 'memory.oom_control' : 'memory.events';
    const text = readText(join(this.#directory('memory', name), file)) ?? '';
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  usage(name: string): { cpuUsageUs: number; memoryBytes: number; memoryCacheBytes: number; pids: number } {
    const v1 = this.version === 1;
    return {
      cpuUsageUs: this.cpuUsageUs(name),
      memoryBytes: this.#number('memory', name, v1 ? 'memory.usage_in_bytes' : 'memory.current'),
      memoryCacheBytes: this.#field('memory', name, 'memory.stat', v1 ? 'total_cache' : 'file'),
      pids: this.#number('pids', name, 'pids.current'),
    };
  }

  /** Processor time that an instance has used, µs. */
  cpuUsageUs(name: string): number {
    return this.version === 1
      ? Math.round(this.#number('cpuacct', name, 'cpuacct.usage') / 1000)
      : this.#field('cpu', name, 'cpu.stat', 'usage_usec');
  }

  #number(controller: string, name: string, file: string): number {
    return Number(readText(join(this.#directory(controller, name), file))) || 0;
  }

  #field(controller: string, name: string, file: string, key: string): number {
    const text = readText(join(this.#directory(controller, name), file)) ?? '';
    return Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  }

  /** Removes the cgroups of a dead instance. False while a process is still in one of them. */
  remove(name: string): boolean {
    let removed = true;
    for (const mount of this.#mounts.values()) {
      const top = join(mount, this.parent, name);
      for (const directory of walk(top).reverse()) {
        try {
          rmdirSync(directory);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') removed = false;
        }
      }
    }
    return removed;
  }

  /** Removes the driver's own cgroup once it is empty. */
  async removeParent(): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      let busy = false;
      for (const mount of this.#mounts.values()) {
        try {
          rmdirSync(join(mount, this.parent));
        } catch (error) {
          busy ||= (error as NodeJS.ErrnoException).code === 'EBUSY';
        }
      }
      // The kernel removes a cgroup asynchronously, and its parent stays busy until then.
      if (!busy || tries >= 50 || this.names().length > 0) return;
      await sleep(20);
    }
  }

  #directory(controller: string, name: string): string {
    return join(this.#parentDirectory(controller), name);
  }

  #parentDirectory(controller: string): string {
    return join(this.#mounts.get(this.version === 2 ? '' : controller) ?? '/nonexistent', this.parent);
  }

  #writeFreezer(name: string, frozen: boolean): void {
    const directory = this.#directory('freezer', name);
    if (this.version === 1) writeFileSync(join(directory, 'freezer.state'), frozen ? 'FROZEN' : 'THAWED');
    else writeFileSync(join(directory, 'cgroup.freeze'), frozen ? '1' : '0');
  }
}

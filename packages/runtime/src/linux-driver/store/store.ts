import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { saysDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';
import { jailCommand } from '../../jail/jail-task.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { ScriptCall } from '../namespace/script-call.js';
import type { Paths } from '../state/paths.js';
import { storeIsFull } from './storage-full.js';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
/** btrfs needs at least about 110 MiB, and more to work well. */
const MIN_SIZE_MIB = 512;
/** btrfs allocates in chunks: it can be full although some bytes are free. */
const FULL_BYTES = 64 * MIB;

/** Default size of the store: 60 % of what is free, at most 40 GiB. The file is sparse: it grows as it fills. */
export function defaultStoreSizeMiB(dataDir: string): number {
  const stats = statfsSync(dataDir);
  const free = stats.bavail * stats.bsize;
  return Math.max(MIN_SIZE_MIB, Math.floor(Math.min(free * 0.6, 40 * GIB) / MIB));
}

/** Reads the kernel's count of a subvolume, bytes. Its counter may be below zero for a while, and is printed without a sign then. */
export function countedBytes(text: string): number {
  return Math.max(0, Number(BigInt.asIntN(64, BigInt(text.trim()))));
}

export interface StoreCallOptions {
  code?: 'create_failed' | 'restore_failed';
  message?: string;
  timeoutMs: number;
}

/** Where writable file systems, layers and checkpoints live: btrfs in a loop image, the data directory's own btrfs, or plain directories. */
export class Store {
  kind: 'btrfs' | 'plain' = 'plain';
  /** A subvolume's size can be limited. */
  quota = false;
  /** The store is an image in a file that grows as it fills. */
  image = false;
  /** Why disk limits or fast copies are missing. */
  problem: string | undefined;
  readonly #paths: Paths;
  readonly #sizeMiB: number | undefined;
  #fsid = '';
  #keeper: NamespaceKeeper | undefined;

  constructor(paths: Paths, sizeMiB?: number) {
    this.#paths = paths;
    this.#sizeMiB = sizeMiB;
  }

  /**
   * Mounts the store inside the keeper's namespace, making it first where there is none.
   * @param below directories outside of it that instances stand on.
   */
  async mount(keeper: NamespaceKeeper, below: readonly string[]): Promise<void> {
    const { store, storeImage, dataDir } = this.#paths;
    const sizeMiB = this.#sizeMiB ?? defaultStoreSizeMiB(dataDir);
    const variables = { STORE: store, IMAGE: storeImage, SIZE_MIB: sizeMiB, BELOW: below.join(':') };
    const { code, answers, stderr } = await keeper.script(
      { name: 'store_mount', variables },
      { timeoutMs: 60_000 },
    );
    if (code !== 0 || answers.failed !== undefined) {
      throw new DriverError('unsupported', 'The store of the sandboxes cannot be mounted.', {
        detail: answers.failed ?? stderr.trim(),
      });
    }
    this.image = answers.image !== undefined;
    this.kind = answers.kind === 'btrfs' ? 'btrfs' : 'plain';
    this.quota = answers.quota !== undefined;
    this.problem = answers.problem;
    this.#fsid = answers.fsid ?? '';
    this.#keeper = keeper;
  }

  /** Unmounting before the namespace goes frees the loop device now and not some time later. */
  async unmount(keeper: NamespaceKeeper): Promise<void> {
    const variables = { STORE: this.#paths.store };
    await keeper.script({ name: 'store_unmount', variables }, { timeoutMs: 30_000 });
  }

  /**
   * Calls a function of the scripts in the store's directory.
   * @param options.code of the error when it fails, and its message. Default `create_failed`, that no sandbox could be made.
   * @throws {DriverError} `code`, `timeout`, `storage_full`.
   */
  async run(
    call: ScriptCall,
    { code = 'create_failed', message = 'The sandbox could not be made.', timeoutMs }: StoreCallOptions,
  ): Promise<Record<string, string>> {
    const result = await this.#namespace.script(this.call(call), { timeoutMs });
    if (result.code === 0) return result.answers;
    const detail = result.stderr.trim().slice(-4000);
    if (result.timedOut) throw new DriverError('timeout', 'The host took too long.', { detail });
    if (saysDiskFull(detail)) throw storeIsFull({ detail });
    throw new DriverError(code, message, { detail });
  }

  /** The same call, made in the store's directory. */
  call({ name, variables, arguments: words = [] }: ScriptCall): ScriptCall {
    const own = { STORE: this.#paths.store, STORE_KIND: this.kind };
    return { name: 'in_store', variables: { ...own, ...variables }, arguments: [name, ...words] };
  }

  /** Copies a tree, copy-on-write where the file system can. */
  async copy(source: string, target: string): Promise<void> {
    await this.run({ name: 'store_copy', arguments: [source, target] }, { timeoutMs: 300_000 });
  }

  /** Removes a tree which may hold one subvolume, or be one. */
  async remove(target: string): Promise<void> {
    await this.run(
      { name: 'store_remove', arguments: [target, ...this.removal(target)] },
      { timeoutMs: 300_000 },
    );
  }

  /** Command line that removes a plain tree, for `store_remove` in the scripts. */
  removal(target: string): string[] {
    return this.removeEntries(dirname(target), [basename(target)]);
  }

  /** Command line that removes what is below a directory, in a process that sees nothing but the directory. */
  removeEntries(directory: string, paths: readonly string[]): string[] {
    return jailCommand(join(this.#paths.store, directory), { kind: 'remove', paths });
  }

  /** Number of the subvolume at a path. Undefined where there are none. */
  async subvolumeOf(path: string): Promise<number | undefined> {
    if (this.kind !== 'btrfs') return undefined;
    const { subvolume } = await this.run(
      { name: 'store_identify', arguments: [path] },
      { timeoutMs: 30_000 },
    );
    return Number(subvolume) || undefined;
  }

  /** Bytes that a subvolume refers to, by its id. Undefined where the kernel does not count them. */
  usedBytes(subvolumeId: number): number | undefined {
    try {
      const path = `/sys/fs/btrfs/${this.#fsid}/qgroups/0_${subvolumeId}/referenced`;
      return countedBytes(readFileSync(path, 'utf8'));
    } catch {
      return undefined;
    }
  }

  /** Size of the whole store, bytes. */
  totalBytes(): number {
    const stats = statfsSync(this.view('.'));
    return stats.blocks * stats.bsize;
  }

  /** Returns true if so little is left that a failed write needs no other explanation. */
  isFull(): boolean {
    const stats = statfsSync(this.view('.'));
    return stats.bavail * stats.bsize < FULL_BYTES;
  }

  list(folder: 'i' | 'c' | 'l' | 'v' | 'agents'): string[] {
    try {
      return readdirSync(this.view(folder));
    } catch {
      return [];
    }
  }

  /** A path in the store, as this process sees it. */
  view(path: string): string {
    return this.#namespace.view(join(this.#paths.store, path));
  }

  /** True if it can be used. */
  get mounted(): boolean {
    return this.#keeper?.alive === true;
  }

  get #namespace(): NamespaceKeeper {
    if (this.#keeper === undefined) throw new Error('The store is not mounted.');
    return this.#keeper;
  }
}

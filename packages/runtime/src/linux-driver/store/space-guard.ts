import { statfsSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StorageUse } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import type { Background } from '../../shared/background.js';
import { reserveBytes } from '../../shared/disk-reserve.js';
import type { Paths } from '../state/paths.js';
import { desiredReserve, isSmallChange } from './reserve-file.js';
import type { Store } from './store.js';

const LOOK_MS = 2_000;
const MIB = 2 ** 20;
/** Freed blocks of the image that are worth giving back at once, and how often that is tried. */
const TRIM_BYTES = 128 * MIB;
const TRIM_PAUSE_MS = 10_000;
const FILE = 'reserve';
/** The longest that a caller waits for the room of ended sandboxes: a busy disk takes its time. */
const RECLAIM_MS = 60_000;
/** Committing costs every sandbox: not one right after another. */
const RECLAIM_PAUSE_MS = 1_000;
/** The time that one round waits for removals, before it looks at the room that others gave back. */
const REMOVALS_MS = 5_000;
/**
 * The time after a removal in which its room may still come: the kernel releases the last mounts of a file system asynchronously,
 * and until then knows of no deleted subvolume that could be waited for.
 */
const SETTLING_MS = 15_000;

/** The number of attempts at something for which the store has room, but not to describe it. */
const TRIES = 4;

export interface SpaceGuardOptions {
  store: Store;
  paths: Paths;
  /** Default 5 % of the file system of the data directory, at most 2048. */
  reserveMiB?: number | undefined;
  /** Removal of what ended. */
  background: Pick<Background, 'idle' | 'idleForMs'>;
  log(level: 'info' | 'warn', message: string, fields: Record<string, unknown>): void;
}

/** Keeps sandboxes from filling the file system that the service itself stands on. */
export class SpaceGuard {
  readonly #options: SpaceGuardOptions;
  readonly #reserve: number;
  #timer: NodeJS.Timeout | undefined;
  #adjusting: Promise<void> | undefined;
  #trimAfter = 0;
  #reclaiming: Promise<boolean> | undefined;
  #reclaimAfter = 0;

  constructor(options: SpaceGuardOptions) {
    this.#options = options;
    this.#reserve = reserveBytes(options.paths.dataDir, options.reserveMiB);
  }

  start(): void {
    this.#timer = setInterval(() => void this.adjust(), LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#adjusting;
  }

  /** Gives the reserve file its desired size. Never rejects. */
  adjust(): Promise<void> {
    this.#adjusting ??= this.#adjust()
      .catch((error: unknown) =>
        this.#options.log('warn', 'the room of the store could not be adjusted', { error: String(error) }),
      )
      .finally(() => {
        this.#adjusting = undefined;
      });
    return this.#adjusting;
  }

  /**
   * Refuses what there is no room for. Sandboxes that ended give their room back in the background: where it is
   * short, this first waits for what is on its way, at most 60 s.
   * @throws {DriverError} `storage_full` when the store has less than `neededBytes`, or shares a disk that has only its reserve.
   */
  async require(neededBytes = 0): Promise<void> {
    const began = Date.now();
    for (let isMoreToCome = true; ; ) {
      const shortage = this.#shortage(neededBytes);
      if (shortage === undefined) return;
      if (!isMoreToCome || Date.now() - began >= RECLAIM_MS)
        throw new DriverError('storage_full', shortage, { detail: this.#inWords(neededBytes) });
      // Sandboxes that end later, one after another, keep nobody waiting for room that does not come.
      isMoreToCome = (await this.#reclaim()) || (this.#isSettling && Date.now() - began < SETTLING_MS);
    }
  }

  /**
   * Runs what writes into the store. Files may find no room to be described in although there is some for what they hold:
   * where that is on its way, the task is run again.
   */
  async withRoom<T>(task: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await task();
      } catch (error) {
        const isFull = DriverError.is(error) && error.code === 'storage_full';
        if (!isFull || tries === TRIES || !((await this.#reclaim()) || this.#isSettling)) throw error;
      }
    }
  }

  #shortage(neededBytes: number): string | undefined {
    const { storeFreeBytes, hostFreeBytes, reserveBytes: reserve } = this.use();
    // An image has no room where the host has none: the reserve file ensures it.
    if (!this.#options.store.image && hostFreeBytes <= reserve)
      return 'The disk of the service is full but for its reserve.';
    return storeFreeBytes < neededBytes ? 'The storage of the sandboxes is full.' : undefined;
  }

  #inWords(neededBytes: number): string {
    const { storeFreeBytes, storeUsedBytes, hostFreeBytes } = this.use();
    const [needed, free, used, reserved, hostFree, reserve] = [
      neededBytes,
      storeFreeBytes,
      storeUsedBytes,
      this.#reserved(),
      hostFreeBytes,
      this.#reserve,
    ].map((bytes) => Math.round(bytes / MIB));
    return `MiB: needed ${needed}; store: free ${free}, used ${used}, kept back ${reserved}; host: free ${hostFree}, reserve ${reserve}`;
  }

  /** Gives blocks of deleted trees back to the host. Resolves to whether another try may find more. Never rejects. */
  #reclaim(): Promise<boolean> {
    const { background, log } = this.#options;
    this.#reclaiming ??= this.#reclaimOnce()
      .catch((error: unknown) => {
        log('warn', 'the room of deleted sandboxes could not be reclaimed', {
          error: String(error),
        });
        return background.idleForMs === 0;
      })
      .finally(() => {
        this.#reclaiming = undefined;
        this.#reclaimAfter = Date.now() + RECLAIM_PAUSE_MS;
      });
    return this.#reclaiming;
  }

  async #reclaimOnce(): Promise<boolean> {
    const { store, background } = this.#options;
    if (!store.mounted || store.kind !== 'btrfs') return false;
    await sleep(this.#reclaimAfter - Date.now());
    const roomBefore = this.#room();
    await Promise.race([background.idle(), sleep(REMOVALS_MS, undefined, { ref: false })]);
    await store.run({ name: 'store_free_deleted' }, { timeoutMs: RECLAIM_MS });
    this.#trimAfter = 0;
    await this.#adjusting;
    await this.adjust();
    return background.idleForMs === 0 || this.#room() > roomBefore;
  }

  get #isSettling(): boolean {
    return this.#options.background.idleForMs < SETTLING_MS;
  }

  /** The room for writes, including the reserve file, within the host's free space. */
  #room(): number {
    const { storeFreeBytes, hostFreeBytes } = this.use();
    return storeFreeBytes + this.#reserved() + hostFreeBytes;
  }

  use(): StorageUse {
    const { store: guarded, paths } = this.#options;
    const host = free(paths.dataDir);
    const store = guarded.mounted && guarded.kind !== 'plain' ? free(guarded.view('.')) : host;
    const reserved = this.#reserved();
    return {
      storeFreeBytes: store.free,
      storeUsedBytes: Math.max(0, store.total - store.free - reserved),
      storeTotalBytes: store.total,
      hostFreeBytes: host.free,
      reserveBytes: this.#reserve,
    };
  }

  #reserved(): number {
    const { store } = this.#options;
    return store.mounted ? (statSync(store.view(FILE), { throwIfNoEntry: false })?.size ?? 0) : 0;
  }

  async #adjust(): Promise<void> {
    const { store, log } = this.#options;
    // On a file system of its own the data directory is full when the store is; nothing grows there.
    if (!store.mounted || !store.image) return;
    let desired = this.#desiredReserve();
    if (desired > 0 && (await this.#trim())) desired = this.#desiredReserve();
    if (isSmallChange(this.#reserved(), desired)) return;
    await this.#resizeReserve(desired);
    log('info', 'the store was given other room', {
      reserveMiB: desired / MIB,
      hostFreeMiB: Math.round(this.use().hostFreeBytes / MIB),
    });
  }

  #desiredReserve(): number {
    const { storeFreeBytes: storeFree, hostFreeBytes: hostFree } = this.use();
    return desiredReserve({ storeFree, hostFree, reserve: this.#reserve, reserved: this.#reserved() });
  }

  /**
   * Gives blocks of deleted files back to the host, which the kernel does in its own time: too long when room is short. Where
   * the reserve file grew over such blocks no trim reaches them, so it gives way for a moment; what sandboxes write in
   * that moment comes out of the reserve.
   */
  async #trim(): Promise<boolean> {
    if (this.#surplus() < TRIM_BYTES || Date.now() < this.#trimAfter) return false;
    this.#trimAfter = Date.now() + TRIM_PAUSE_MS;
    await this.#trimNow();
    if (this.#surplus() < TRIM_BYTES || this.#reserved() === 0) return true;
    await this.#resizeReserve(0);
    await this.#trimNow();
    return true;
  }

  async #trimNow(): Promise<void> {
    await this.#options.store.run({ name: 'store_trim' }, { timeoutMs: 60_000 });
  }

  async #resizeReserve(bytes: number): Promise<void> {
    await this.#options.store.run(
      { name: 'store_reserve', arguments: [FILE, String(this.#reserved()), String(bytes)] },
      { timeoutMs: 60_000 },
    );
  }

  /** Bytes that the image takes on the host beyond what is stored in it. */
  #surplus(): number {
    return statSync(this.#options.paths.storeImage).blocks * 512 - this.use().storeUsedBytes;
  }
}

function free(path: string): { free: number; total: number } {
  const stats = statfsSync(path);
  return { free: stats.bavail * stats.bsize, total: stats.blocks * stats.bsize };
}

import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StorageUse } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import type { Background } from '../../shared/background.js';
import { reserveBytes } from '../../shared/disk-reserve.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { Paths } from '../state/paths.js';
import { desiredBallast, isSmallChange } from './ballast.js';
import type { Store } from './store.js';

const LOOK_MS = 2_000;
const MIB = 2 ** 20;
/** Freed blocks of the image that are worth giving back at once, and how often that is tried. */
const TRIM_BYTES = 128 * MIB;
const TRIM_PAUSE_MS = 10_000;
const FILE = 'ballast';
/** How long a caller waits for room that ended sandboxes have yet to give back, and how often at most. */
const RECLAIM_MS = 15_000;
const RECLAIM_PAUSE_MS = 5_000;

/** What the guard needs of the host. */
export interface GuardedHost {
  readonly options: { reserveMiB?: number };
  readonly paths: Paths;
  readonly store: Store;
  readonly current: NamespaceKeeper | undefined;
  readonly background: Pick<Background, 'idle'>;
  inStore(
    keeper: NamespaceKeeper,
    script: string,
    code: 'create_failed',
    timeoutMs: number,
  ): Promise<unknown>;
  log(level: 'info' | 'warn', message: string, fields: Record<string, unknown>): void;
}

/** Keeps sandboxes from filling the file system that the service itself stands on. */
export class SpaceGuard {
  readonly #host: GuardedHost;
  readonly #reserve: number;
  #timer: NodeJS.Timeout | undefined;
  #adjusting: Promise<void> | undefined;
  #trimAfter = 0;
  #reclaiming: Promise<void> | undefined;
  #reclaimAfter = 0;

  constructor(host: GuardedHost) {
    this.#host = host;
    this.#reserve = reserveBytes(host.paths.dataDir, host.options.reserveMiB);
  }

  start(): void {
    this.#timer = setInterval(() => void this.adjust(), LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#adjusting;
  }

  /** Makes the ballast what it should be. Never rejects. */
  adjust(): Promise<void> {
    this.#adjusting ??= this.#adjust()
      .catch((error: unknown) =>
        this.#host.log('warn', 'the room of the store could not be adjusted', { error: String(error) }),
      )
      .finally(() => {
        this.#adjusting = undefined;
      });
    return this.#adjusting;
  }

  /**
   * Refuses what there is no room for. Sandboxes that ended give their room back in the background: where it is
   * short, this first waits for what is on its way.
   * @throws {DriverError} `storage_full` when the store has less than `neededBytes`, or shares a disk that has only its reserve.
   */
  async require(neededBytes = 0): Promise<void> {
    if (this.#shortage(neededBytes) === undefined) return;
    await this.#reclaim();
    const shortage = this.#shortage(neededBytes);
    if (shortage !== undefined)
      throw new DriverError('storage_full', shortage, { detail: this.#inWords(neededBytes) });
  }

  #shortage(neededBytes: number): string | undefined {
    const { storeFreeBytes, hostFreeBytes, reserveBytes: reserve } = this.use();
    // An image has no room where the host has none: the ballast sees to it.
    if (!this.#host.store.image && hostFreeBytes <= reserve)
      return 'The disk of the service is full but for its reserve.';
    return storeFreeBytes < neededBytes ? 'The storage of the sandboxes is full.' : undefined;
  }

  #inWords(neededBytes: number): string {
    const { storeFreeBytes, storeUsedBytes, hostFreeBytes } = this.use();
    const [needed, free, used, ballast, hostFree, reserve] = [
      neededBytes,
      storeFreeBytes,
      storeUsedBytes,
      this.#ballast(),
      hostFreeBytes,
      this.#reserve,
    ].map((bytes) => Math.round(bytes / MIB));
    return `MiB: needed ${needed}; store: free ${free}, used ${used}, kept back ${ballast}; host: free ${hostFree}, reserve ${reserve}`;
  }

  /** Waits until deleted trees are freed and their blocks are the host's again. Never rejects. */
  #reclaim(): Promise<void> {
    this.#reclaiming ??= this.#reclaimOnce()
      .catch((error: unknown) =>
        this.#host.log('warn', 'the room of deleted sandboxes could not be reclaimed', {
          error: String(error),
        }),
      )
      .finally(() => {
        this.#reclaiming = undefined;
        this.#reclaimAfter = Date.now() + RECLAIM_PAUSE_MS;
      });
    return this.#reclaiming;
  }

  async #reclaimOnce(): Promise<void> {
    const { current, store } = this.#host;
    if (current === undefined || store.kind !== 'btrfs' || Date.now() < this.#reclaimAfter) return;
    await Promise.race([this.#host.background.idle(), sleep(RECLAIM_MS, undefined, { ref: false })]);
    // A deleted subvolume is freed after the next commit, which btrfs makes every half minute by itself.
    const freed = 'btrfs filesystem sync . >/dev/null && btrfs subvolume sync . >/dev/null';
    await this.#host.inStore(current, freed, 'create_failed', RECLAIM_MS);
    this.#trimAfter = 0;
    await this.#adjusting;
    await this.adjust();
  }

  use(): StorageUse {
    const host = free(this.#host.paths.dataDir);
    const { current } = this.#host;
    const store =
      current === undefined || this.#host.store.kind === 'plain'
        ? host
        : free(current.view(this.#host.paths.store));
    const ballast = this.#ballast();
    return {
      storeFreeBytes: store.free,
      storeUsedBytes: Math.max(0, store.total - store.free - ballast),
      storeTotalBytes: store.total,
      hostFreeBytes: host.free,
      reserveBytes: this.#reserve,
    };
  }

  #ballast(): number {
    const { current } = this.#host;
    if (current === undefined) return 0;
    return statSync(current.view(join(this.#host.paths.store, FILE)), { throwIfNoEntry: false })?.size ?? 0;
  }

  async #adjust(): Promise<void> {
    const { current, store } = this.#host;
    // On a file system of its own the data directory is full when the store is; nothing grows there.
    if (current === undefined || !store.image) return;
    let desired = this.#desiredBallast();
    if (desired > 0 && (await this.#trim(current))) desired = this.#desiredBallast();
    const ballast = this.#ballast();
    if (isSmallChange(ballast, desired)) return;
    await this.#host.inStore(current, resizeCommand(ballast, desired), 'create_failed', 60_000);
    this.#host.log('info', 'the store was given other room', {
      ballastMiB: desired / MIB,
      hostFreeMiB: Math.round(this.use().hostFreeBytes / MIB),
    });
  }

  #desiredBallast(): number {
    const { storeFreeBytes: storeFree, hostFreeBytes: hostFree } = this.use();
    return desiredBallast({ storeFree, hostFree, reserve: this.#reserve, ballast: this.#ballast() });
  }

  // The kernel gives blocks of deleted files back to the host in its own time, which is too long when room is short.
  async #trim(keeper: NamespaceKeeper): Promise<boolean> {
    const { storeUsedBytes } = this.use();
    const allocated = statSync(this.#host.paths.storeImage).blocks * 512;
    if (allocated - storeUsedBytes < TRIM_BYTES || Date.now() < this.#trimAfter) return false;
    this.#trimAfter = Date.now() + TRIM_PAUSE_MS;
    await this.#host.inStore(keeper, 'fstrim .', 'create_failed', 60_000);
    return true;
  }
}

function resizeCommand(ballast: number, desired: number): string {
  // Free room counts again only after a commit; until then the next look would take more away.
  if (desired < ballast) return `truncate -s ${desired} ${FILE} && btrfs filesystem sync . >/dev/null`;
  // Programs write meanwhile: half of what was free a moment ago is still to be had.
  const half = ballast + Math.floor((desired - ballast) / 2);
  return `fallocate -l ${desired} ${FILE} || fallocate -l ${half} ${FILE}`;
}

function free(path: string): { free: number; total: number } {
  const stats = statfsSync(path);
  return { free: stats.bavail * stats.bsize, total: stats.blocks * stats.bsize };
}

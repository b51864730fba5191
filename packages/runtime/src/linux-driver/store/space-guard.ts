import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StorageUse } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import { reserveBytes } from '../../shared/disk-reserve.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { Paths } from '../state/paths.js';
import { desiredBallast } from './ballast.js';
import type { Store } from './store.js';

const LOOK_MS = 2_000;
const MIB = 2 ** 20;
/** Freed blocks of the image that are worth giving back at once, and how often that is tried. */
const TRIM_BYTES = 128 * MIB;
const TRIM_PAUSE_MS = 10_000;
const FILE = 'ballast';

/** What the guard needs of the host. */
export interface GuardedHost {
  readonly options: { reserveMiB?: number };
  readonly paths: Paths;
  readonly store: Store;
  readonly current: NamespaceKeeper | undefined;
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

  /** @throws {DriverError} `storage_full` when the store has less than `neededBytes`, or shares a disk that has only its reserve. */
  require(neededBytes = 0): void {
    const { storeFreeBytes, hostFreeBytes, reserveBytes: reserve } = this.use();
    // An image has no room where the host has none: the ballast sees to it.
    const hostFull = !this.#host.store.image && hostFreeBytes <= reserve;
    if (!hostFull && storeFreeBytes >= neededBytes) return;
    throw new DriverError(
      'storage_full',
      hostFull
        ? 'The disk of the service is full but for its reserve.'
        : 'The storage of the sandboxes is full.',
    );
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
    const ballast = this.#ballast();
    const { storeFreeBytes: storeFree, hostFreeBytes: hostFree } = this.use();
    if (hostFree < this.#reserve + 2 * TRIM_BYTES) await this.#trim(current);
    const desired = desiredBallast({ storeFree, hostFree, reserve: this.#reserve, ballast });
    if (desired === undefined) return;
    const how = desired < ballast ? `truncate -s ${desired}` : `fallocate -l ${desired}`;
    await this.#host.inStore(current, `${how} ${FILE}`, 'create_failed', 60_000);
    this.#host.log('info', 'the store was given other room', {
      ballastMiB: desired / MIB,
      hostFreeMiB: Math.round(hostFree / MIB),
    });
  }

  // The kernel gives blocks of deleted files back to the host in its own time, which is too long when room is short.
  async #trim(keeper: NamespaceKeeper): Promise<void> {
    const { storeUsedBytes } = this.use();
    const allocated = statSync(this.#host.paths.storeImage).blocks * 512;
    if (allocated - storeUsedBytes < TRIM_BYTES || Date.now() < this.#trimAfter) return;
    this.#trimAfter = Date.now() + TRIM_PAUSE_MS;
    await this.#host.inStore(keeper, 'fstrim .', 'create_failed', 60_000);
  }
}

function free(path: string): { free: number; total: number } {
  const stats = statfsSync(path);
  return { free: stats.bavail * stats.bsize, total: stats.blocks * stats.bsize };
}

import { existsSync, renameSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';
import { randomId, requireCheckpointId } from '../../shared/instance-id.js';
import type { RetryLater } from '../../shared/retry-later.js';
import type { LinuxHost } from '../host/linux-host.js';
import { type CheckpointRecord, readCheckpoint } from './checkpoint.js';

/** The checkpoints in the store, and which of them are being restored. */
export class CheckpointCatalog {
  readonly #host: LinuxHost;
  readonly #cleanUp: RetryLater;
  readonly #restoring = new Map<string, number>();

  constructor(host: LinuxHost, cleanUp: RetryLater) {
    this.#host = host;
    this.#cleanUp = cleanUp;
  }

  async all(): Promise<CheckpointRecord[]> {
    const keeper = await this.#host.up();
    return this.#host.store.list(keeper, 'c').flatMap((id) => {
      // A draft begins with a dot.
      return id.startsWith('.') ? [] : (readCheckpoint(this.#host, keeper, id) ?? []);
    });
  }

  /** @throws {DriverError} `not_found` */
  async get(id: string): Promise<CheckpointRecord> {
    const record = readCheckpoint(this.#host, await this.#host.up(), id);
    if (record === undefined) throw new DriverError('not_found', `There is no checkpoint "${id}".`);
    return record;
  }

  isRestoring(id: string): boolean {
    return (this.#restoring.get(id) ?? 0) > 0;
  }

  /** Keeps a checkpoint from being deleted while `task` restores it. */
  async whileRestoring<T>(id: string, task: () => Promise<T>): Promise<T> {
    this.#restoring.set(id, (this.#restoring.get(id) ?? 0) + 1);
    try {
      return await task();
    } finally {
      const left = this.#restoring.get(id)! - 1;
      if (left === 0) this.#restoring.delete(id);
      else this.#restoring.set(id, left);
    }
  }

  /** Settles once it is gone by name; its room becomes free soon after. Repeating it is fine. @throws {DriverError} `busy` while it is being restored. */
  async delete(id: string): Promise<void> {
    requireCheckpointId(id);
    if (this.isRestoring(id)) throw new DriverError('busy', 'The checkpoint is being restored.');
    const keeper = await this.#host.up();
    const path = this.#host.view(keeper, `c/${id}`);
    if (!existsSync(path)) return;
    const aside = `c/.gone-${randomId()}`;
    renameSync(path, this.#host.view(keeper, aside));
    const removed = this.#cleanUp.attempt(aside, async () => {
      const current = await this.#host.up();
      await this.#host.inStore(current, this.#host.store.remove(aside), 'create_failed', 300_000);
    });
    this.#host.background.add(removed.then(() => undefined));
  }
}

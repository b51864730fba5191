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
    await this.#host.up();
    return this.#host.store.list('c').flatMap((id) => {
      // A draft begins with a dot.
      return id.startsWith('.') ? [] : (readCheckpoint(this.#host, id) ?? []);
    });
  }

  /** @throws {DriverError} `not_found` */
  async get(id: string): Promise<CheckpointRecord> {
    await this.#host.up();
    const record = readCheckpoint(this.#host, id);
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
    const { store } = this.#host;
    await this.#host.up();
    const path = store.view(`c/${id}`);
    if (!existsSync(path)) return;
    const aside = `c/.gone-${randomId()}`;
    renameSync(path, store.view(aside));
    const removed = this.#cleanUp.attempt(aside, async () => {
      await this.#host.up();
      await store.remove(aside);
    });
    this.#host.background.add(removed.then(() => undefined));
  }
}

import type { DirectoryWatch } from '@svc/sdk';
import { FileNotFoundError, InvalidRequestError, ServerError } from '@svc/sdk';
import type { Exclusions } from '../rules/ignore.js';
import type { RemoteRoot } from './scan-remote.js';

/** Reports that something happened in the tree of the sandbox. Whenever it breaks off, that counts as a change. */
export class RemoteWatch {
  readonly #root: RemoteRoot;
  readonly #exclusions: Exclusions;
  readonly #on: { change: () => void; signal: AbortSignal };
  #watch: DirectoryWatch | undefined;
  #refused = false;

  constructor(root: RemoteRoot, exclusions: Exclusions, on: { change: () => void; signal: AbortSignal }) {
    this.#root = root;
    this.#exclusions = exclusions;
    this.#on = on;
  }

  /** True while changes are reported. */
  get active(): boolean {
    return this.#watch !== undefined;
  }

  /**
   * Watches, if it does not yet. Where the sandbox cannot watch, for want of a directory or of room, it continues without;
   * the first time that is reported.
   * @throws the error when the sandbox cannot be reached
   */
  async open(onRefusal: (error: unknown) => void): Promise<void> {
    if (this.#watch !== undefined) return;
    const { sandbox, path, user } = this.#root;
    const { signal, change } = this.#on;
    try {
      const watch = await sandbox.files.watch(path, {
        recursive: true,
        allowNetworkMounts: true,
        user,
        signal,
        onEvent: ({ name }) => {
          if (!this.#exclusions.excludes(name, false)) change();
        },
        onEnd: () => {
          if (this.#watch === watch) this.#watch = undefined;
          if (!signal.aborted) change();
        },
      });
      this.#watch = watch;
      this.#refused = false;
    } catch (error) {
      signal.throwIfAborted();
      // The look that follows makes the directory, or says what is wrong.
      if (FileNotFoundError.is(error)) return;
      if (!(ServerError.is(error) || InvalidRequestError.is(error))) throw error;
      if (!this.#refused) onRefusal(error);
      this.#refused = true;
    }
  }

  close(): void {
    void this.#watch?.close();
    this.#watch = undefined;
  }
}

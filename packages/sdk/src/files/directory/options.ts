import type { RequestOptions } from '../../core/call-context.js';
import type { IgnoreRules } from './ignore-rules.js';

/** How far a transfer is. */
export interface TransferProgress {
  /** The entry that was worked on last, relative to the directory. */
  readonly path: string;
  /** Entries begun. */
  readonly entries: number;
  /** Bytes of file content so far. */
  readonly bytes: number;
  /** Entries in all; unknown for downloads. */
  readonly totalEntries: number | undefined;
  /** Bytes in all; unknown for downloads. */
  readonly totalBytes: number | undefined;
}

/** How to transfer a directory. The transfer as a whole has no time limit; abort it by `signal`. */
export interface TransferOptions extends Omit<RequestOptions, 'maxRetries'> {
  /** What to leave out, in the language of `.gitignore`. A directory that is left out is left out with all it holds. */
  ignore?: IgnoreRules | undefined;
  /** Called as bytes pass and entries are done. */
  onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
}

/** What was transferred. */
export interface TransferResult {
  readonly entries: number;
  /** Bytes of file content. */
  readonly bytes: number;
}

/** Counts a transfer and reports its progress. */
export class TransferCount {
  #entries = 0;
  #bytes = 0;
  #path: string | undefined;
  readonly #total: { entries: number; bytes: number } | undefined;
  readonly #onProgress: TransferOptions['onProgress'];

  constructor(onProgress: TransferOptions['onProgress'], total?: { entries: number; bytes: number }) {
    this.#onProgress = onProgress;
    this.#total = total;
  }

  readonly add = (path: string, bytes: number): void => {
    if (path !== this.#path) this.#entries += 1;
    this.#path = path;
    this.#bytes += bytes;
    this.#onProgress?.({
      path,
      entries: this.#entries,
      bytes: this.#bytes,
      totalEntries: this.#total?.entries,
      totalBytes: this.#total?.bytes,
    });
  };

  get result(): TransferResult {
    return { entries: this.#entries, bytes: this.#bytes };
  }
}

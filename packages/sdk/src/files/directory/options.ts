import type { RequestOptions } from '../../core/call-context.js';
import type { IgnoreRules } from './ignore-rules.js';

/** Progress of a transfer. */
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

/** Options of a directory's transfer. The transfer as a whole has no time limit; abort it by `signal`. */
export interface TransferOptions extends Omit<RequestOptions, 'maxRetries'> {
  /** Entries to leave out, in the language of `.gitignore`. A directory that is left out is left out with all its entries. */
  ignore?: IgnoreRules | undefined;
  /** Called as bytes pass and entries are done. */
  onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
}

/** Options of a directory's download. */
export interface DownloadOptions extends TransferOptions {
  /** True when `.git`, `.hg`, `.svn` and `.jj` are taken along. Files that a sandbox wrote there can make git run programs here. Default false. */
  vcs?: boolean | undefined;
}

/** Something of the sandbox that was not written here. */
export interface SkippedEntry {
  /** Relative to the directory. */
  readonly path: string;
  /** Why, in words. */
  readonly reason: string;
}

/** The outcome of a transfer. */
export interface TransferResult {
  readonly entries: number;
  /** Bytes of file content. */
  readonly bytes: number;
}

/** The outcome of a download. */
export interface DownloadResult extends TransferResult {
  /** Entries that were left out although no rule of `ignore` says so; the first 1000. */
  readonly skipped: readonly SkippedEntry[];
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

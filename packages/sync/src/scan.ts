import type { FoundEntry } from './plan/tree.js';

/** The result of one look at a side. */
export interface Scan {
  readonly tree: Map<string, FoundEntry>;
  /** Paths that are left alone on both sides, with all below them, and why. */
  readonly blocked: Map<string, string>;
  /** Paths that were being written; they are looked at again soon. */
  readonly busy: Set<string>;
  /** Digests by fingerprint, for the next look. */
  readonly digests: Digests;
}

/** Known digests of files by path, so that only files that changed are read. */
export type Digests = Map<string, { readonly fingerprint: string; readonly digest: string }>;

/** Bounds of a look at a side. */
export interface ScanLimits {
  readonly maxEntries: number;
  readonly maxFileSizeBytes: number;
  readonly maxTotalBytes: number;
}

/**
 * Time that a file must have been left alone before its fingerprint stands for its content, ms: clocks of file systems
 * tick in steps, and two writes within one look the same.
 */
export const settledAfterMs = 2_000;

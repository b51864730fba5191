import type { Side } from './plan/action.js';

/** Something that a synchronization did, found, or waits for. Paths are relative to the two directories. */
export type SyncEvent =
  /** Something was changed on a side. */
  | {
      readonly type: 'change';
      readonly side: Side;
      readonly action: 'create' | 'update' | 'delete' | 'rename';
      readonly kind: 'file' | 'directory' | 'symlink';
      readonly path: string;
      /** Of `rename`: its old path. */
      readonly from: string | undefined;
      /** Of files that were written; 0 otherwise. */
      readonly sizeBytes: number;
    }
  /** Both sides changed a path. */
  | {
      readonly type: 'conflict';
      readonly path: string;
      /** Whose version stays there. */
      readonly kept: Side;
      /** Where the other version is now, on both sides; undefined when it was given up (`prefer`). */
      readonly copy: string | undefined;
    }
  /** A path is left alone on both sides. Reported once for each path and reason. */
  | { readonly type: 'skipped'; readonly side: Side; readonly path: string; readonly reason: string }
  /** Progress of one round's transfer. */
  | {
      readonly type: 'progress';
      readonly side: Side;
      readonly bytes: number;
      readonly totalBytes: number;
    }
  /** Both sides are equal, but for what is skipped. */
  | {
      readonly type: 'synced';
      /** Entries that both have. */
      readonly entries: number;
      /** Changes since the last event of this type. */
      readonly changes: number;
    }
  /** The sandbox cannot be reached, is paused, or refuses; it is tried again. */
  | { readonly type: 'waiting'; readonly reason: 'paused' | 'unreachable'; readonly error: unknown }
  /** The sandbox is reached again after `waiting`. */
  | { readonly type: 'resumed' }
  /** Changes of a side are not reported by the system; it is compared every few seconds instead. */
  | { readonly type: 'polling'; readonly side: Side; readonly error: unknown }
  /** The end; with an error unless it was asked for. */
  | { readonly type: 'stopped'; readonly error: unknown };

/** Fields that most changes of a file, directory or link have. */
export type ChangeEvent = Extract<SyncEvent, { type: 'change' }>;

import { SvcError, type SvcErrorDetails } from '@svc/sdk';
import type { Side } from './plan/action.js';

/** Why a synchronization stopped by itself. An open set. */
export type SyncStopReason =
  /** One of the two directories is not there any more. */
  | 'root_vanished'
  /** One of the two directories is empty all of a sudden. */
  | 'root_emptied'
  /** A side has more entries, or bytes, than is allowed. */
  | 'too_much'
  /** Both sides did not become equal for once: something changes all the time. */
  | 'unsettled'
  /** A program that is needed is missing in the sandbox. */
  | 'unsupported';

/** A synchronization stopped, because continuing could do harm. Nothing was deleted for it. */
export class SyncStoppedError extends SvcError {
  static override readonly kind: string = 'SyncStoppedError';
  static override readonly code: string = 'sync_stopped';
  /** Why it stopped. */
  readonly reason: SyncStopReason;
  constructor(message: string, details: SvcErrorDetails & { reason: SyncStopReason }) {
    super(message, details);
    this.reason = details.reason;
  }
}

/** A side has more than is allowed. */
export const SyncLimitError = {
  entries: (side: Side, limit: number) =>
    new SyncStoppedError(
      `The ${side} directory has more than ${limit} entries. Leave some out by \`ignore\`, or raise maxEntries.`,
      { reason: 'too_much' },
    ),
  bytes: (side: Side, limit: number) =>
    new SyncStoppedError(
      `The files of the ${side} directory have more than ${limit} bytes together. Leave some out by \`ignore\`, or raise maxTotalBytes.`,
      { reason: 'too_much' },
    ),
};

import type { SyncEvent } from './events.js';
import type { Entry } from './plan/tree.js';
import type { RemoteRoot } from './remote/scan-remote.js';
import type { Exclusions } from './rules/ignore.js';
import type { Digests } from './scan.js';
import type { SyncSettings } from './settings.js';

/** What is remembered from one round to the next. */
export interface SyncMemory {
  /** What both sides had in common last. */
  base: Map<string, Entry>;
  local: Digests;
  remote: Digests;
}

/** What a round works with. */
export interface RoundContext {
  readonly settings: SyncSettings;
  readonly remote: RemoteRoot;
  readonly exclusions: Exclusions;
  readonly memory: SyncMemory;
  /** Whether names of the local file system that differ in case alone mean one file. */
  readonly foldsCase: boolean;
  readonly signal: AbortSignal;
  readonly emit: (event: SyncEvent) => void;
}

import type { SyncEvent } from './events.js';
import type { Entry } from './plan/tree.js';
import type { RemoteRoot } from './remote/scan-remote.js';
import type { Exclusions } from './rules/ignore.js';
import type { Digests } from './scan.js';
import type { SyncSettings } from './settings.js';

/** The state that is kept from one round to the next. */
export interface SyncMemory {
  /** The state that both sides last had in common. */
  base: Map<string, Entry>;
  local: Digests;
  remote: Digests;
}

/** The inputs of a round. */
export interface RoundContext {
  readonly settings: SyncSettings;
  readonly remote: RemoteRoot;
  readonly exclusions: Exclusions;
  readonly memory: SyncMemory;
  /** True when names of the local file system that differ in case alone mean one file. */
  readonly foldsCase: boolean;
  readonly signal: AbortSignal;
  readonly emit: (event: SyncEvent) => void;
}

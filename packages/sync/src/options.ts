import type { IgnoreRules } from '@svc/sdk';
import type { SyncEvent } from './events.js';
import type { Preference, SyncMode } from './plan/input.js';

/** Options of a synchronization. */
export interface SyncOptions {
  /** Directory of this machine; relative ones start at the working directory. It is made when it is missing, except with `push`. */
  local: string;
  /** Directory of the sandbox; relative ones start at the user's home. It is made when it is missing, except with `pull`. */
  remote: string;
  /**
   * `two-way`; `push`: the sandbox follows this machine, and what is changed there is overwritten; `pull`: the other way
   * round. Default `two-way`.
   */
  mode?: SyncMode | undefined;
  /**
   * Whose version stays where both sides changed a file; the other one is lost. Default: the local one stays, and the
   * remote one is kept beside it as `NAME.conflict-remote-TIME`.
   */
  prefer?: Preference | undefined;
  /** With `push` and `pull`: also delete what only the following side has and was never synchronized. Default false. */
  deleteExtra?: boolean | undefined;
  /** Entries to leave out on both sides, in the language of `.gitignore`, beside the lines of `.svcignore` in the local directory. */
  ignore?: IgnoreRules | undefined;
  /** True when files that `.gitignore` files leave out are left out here too. Changes that the sandbox makes to these files are then not taken over. Default false. */
  gitignore?: boolean | undefined;
  /** True when `.git`, `.hg`, `.svn` and `.jj` are synchronized. A sandbox that writes them can make git run programs here. Default false. */
  vcs?: boolean | undefined;
  /** True to continue after the first comparison and follow both sides. Default true. */
  watch?: boolean | undefined;
  /** Time after which everything is compared anew although no change was reported, ms. At least 1000. Default 60 000. */
  rescanIntervalMs?: number | undefined;
  /** Larger files are left out, bytes. Default 4 GiB. */
  maxFileSizeBytes?: number | undefined;
  /** Most bytes of files of one side together; with more the synchronization stops. Default 32 GiB. */
  maxTotalBytes?: number | undefined;
  /** Most files, directories and links of one side; with more the synchronization stops. Default 200 000. */
  maxEntries?: number | undefined;
  /** True when one side may become empty when the other is not, and with it the other. Default false: it stops. */
  allowEmpty?: boolean | undefined;
  /**
   * File of this machine that keeps the last common state, so that the next synchronization knows what was deleted
   * meanwhile. Default: none; the next one then brings back what is on one side only.
   */
  stateFile?: string | undefined;
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
  /** Called for everything that happens, in order. Must not throw. */
  onEvent?: ((event: SyncEvent) => void) | undefined;
  /** Stops the synchronization. */
  signal?: AbortSignal | undefined;
}

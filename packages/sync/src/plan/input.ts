import type { Action, Conflict } from './action.js';
import type { Entry, FoundEntry, Tree } from './tree.js';

/** Which way changes go. `push`: the remote side follows the local one; `pull`: the other way round. */
export type SyncMode = 'two-way' | 'push' | 'pull';

/** Whose version stays where both changed. `newer` goes by the time of the last write; the local one wins a tie. */
export type Preference = 'local' | 'remote' | 'newer';

/** The inputs of a plan. */
export interface PlanInput {
  /** The state that both sides last had in common. */
  base: Tree;
  local: Tree<FoundEntry>;
  remote: Tree<FoundEntry>;
  mode: SyncMode;
  /** Whose version stays in a conflict while the other goes. Undefined: the local one stays, the remote one is kept beside it. */
  prefer?: Preference | undefined;
  /** In the modes of one way: whether what was never in common is deleted too. */
  deleteExtra?: boolean | undefined;
  /** Paths that never take anything from the remote side. */
  isLocalOnly?: ((path: string) => boolean) | undefined;
  /** The name beside a path that the remote version of a conflict gets; nothing may be there on either side. */
  conflictPath: (path: string) => string;
}

/** The actions to take, and the entries that are in common already. */
export interface Plan {
  /** In an order in which they can be done. */
  readonly actions: readonly Action[];
  /** The common state as it is before any of the actions. */
  readonly base: Map<string, Entry>;
}

/** The wanted state of both sides. They differ where one of them keeps an entry that the other does not get. */
export interface Decision {
  readonly local: Map<string, Entry>;
  readonly remote: Map<string, Entry>;
  readonly conflicts: Conflict[];
}

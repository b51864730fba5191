import type { Gate } from './gate.js';
import type { TokenStore } from './token/token-store.js';
import type { Users } from './users/index.js';

export type { OsUser, Users } from './users/index.js';

/** What a request falls back on when it names no user or directory. */
export interface Defaults {
  user: string;
  /** Unresolved, as /init gave it; undefined: the user's home. */
  workdir: string | undefined;
}

/** What every part of the daemon may look at. Only /init changes it. */
export interface EnvdContext {
  readonly users: Users;
  readonly defaults: Defaults;
  readonly token: TokenStore;
  readonly gate: Gate;
  /** Variables that every process gets; /init replaces the whole map. */
  envVars: Readonly<Record<string, string>>;
  /** Variables of user processes that make them trust the authority of /init. */
  trustVars: Readonly<Record<string, string>>;
  /** Present: no change of user, every known name maps to the daemon's own account with this home. */
  readonly singleUser?: { readonly home: string };
  /** Milliseconds since 1970. */
  now(): number;
}

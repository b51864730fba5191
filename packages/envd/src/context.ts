import type { TokenStore } from './token/token-store.js';

/** An account inside the sandbox. */
export interface OsUser {
  name: string;
  uid: number;
  /** Primary group. */
  gid: number;
  /** All groups, the primary one among them or not. */
  groups: number[];
  /** Absolute path. */
  home: string;
  /** Absolute path of the login shell. */
  shell: string;
}

/** Finds accounts by name. */
export interface Users {
  find(name: string): Promise<OsUser | undefined>;
}

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
  /** Variables that every process gets; /init replaces the whole map. */
  envVars: Readonly<Record<string, string>>;
  /** Present: no change of user, every known name maps to the daemon's own account with this home. */
  readonly singleUser?: { readonly home: string };
  /** Milliseconds since 1970. */
  now(): number;
}

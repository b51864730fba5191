import type { RequestOptions } from '../core/call-context.js';

/** Options that all calls of git share. */
export interface GitOptions extends RequestOptions {
  /** A directory of the repository; `~` and relative paths start at the user's home. Default: the sandbox's, else the home. */
  cwd?: string | undefined;
  /** User inside the sandbox, to whom files will belong. Default: the sandbox's default user. */
  user?: string | undefined;
  /** Time limit, ms; then git is killed. 0: unlimited. Default 60 000, for `clone`, `push` and `pull` 300 000. */
  timeoutMs?: number | undefined;
}

/**
 * A credential that the sandbox never sees: what `secret(name)` gives for the password or token. GitHub, GitLab and most
 * others take any user name beside a token: `x-access-token` unless said otherwise.
 */
export type GitCredential = string | { username: string; password: string };

/** Options of `git.clone`. */
export interface CloneOptions extends GitOptions {
  /** Where to; relative to `cwd`. Default: the last part of the address, without `.git`. */
  path?: string | undefined;
  /** Branch or tag to check out. Default: the remote's. */
  branch?: string | undefined;
  /** So many commits of the history only, and of one branch. Default: all. */
  depth?: number | undefined;
  /** As `git.authorize` takes it, for the host of the address. Default: none. */
  credential?: GitCredential | undefined;
}

/** Options of `git.checkout`. */
export interface CheckoutOptions extends GitOptions {
  /** True when the branch is made. Default false. */
  create?: boolean | undefined;
  /** Where a new branch starts. Default: the commit that is checked out. */
  from?: string | undefined;
}

/** Options of `git.commit`. */
export interface CommitOptions extends GitOptions {
  /** Adds changed and deleted files that git knows first. Default false. */
  all?: boolean | undefined;
  /** The author of the commit. Default: `user.name` and `user.email` of the repository or user. */
  author?: { name: string; email: string } | undefined;
  /** True when a commit without changes is made. Default false. */
  allowEmpty?: boolean | undefined;
}

/** Options of `git.push`. */
export interface PushOptions extends GitOptions {
  /** Default `origin`. */
  remote?: string | undefined;
  /** Default: the branch that is checked out. */
  branch?: string | undefined;
  /** Replaces what is there, unless somebody else has pushed since it was fetched. Default false. */
  force?: boolean | undefined;
}

/** Options of `git.pull`. */
export interface PullOptions extends GitOptions {
  /** Default: that of the branch. */
  remote?: string | undefined;
  /** Default: that which the branch follows. Needs `remote`. */
  branch?: string | undefined;
  /** Puts local commits on top of what comes, instead of merging. Default false. */
  rebase?: boolean | undefined;
}

/** Options of `git.diff`. Without `from`: what is changed and not yet added. */
export interface DiffOptions extends GitOptions {
  /** True for the added changes, against the last commit or `from`. Default false. */
  staged?: boolean | undefined;
  /** A commit, branch or tag. */
  from?: string | undefined;
  /** Another, to be compared with `from`. Default: the files as they are. */
  to?: string | undefined;
  /** Only these files and directories. Default: all. */
  paths?: readonly string[] | undefined;
}

/** Options of `git.apply`. */
export interface ApplyOptions extends GitOptions {
  /** True when the changes are added, too. Default false. */
  index?: boolean | undefined;
  /** Merges what does not fit, and leaves conflicts in the files. Default false: all or nothing. */
  threeWay?: boolean | undefined;
}

/** Options of `git.log`. */
export interface LogOptions extends GitOptions {
  /** At most so many. Default 50. */
  limit?: number | undefined;
  /** A commit, branch or tag to start from, or a range such as `main..topic`. Default: what is checked out. */
  ref?: string | undefined;
  /** Only commits that change these. Default: all. */
  paths?: readonly string[] | undefined;
}

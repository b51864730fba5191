/** The kind of a file's difference. */
export type GitChange =
  | 'added'
  | 'modified'
  | 'deleted'
  | 'renamed'
  | 'copied'
  | 'type_changed'
  | 'untracked'
  | 'conflict';

/** One file that differs from the last commit. */
export interface GitFileStatus {
  /** From the top of the repository. */
  readonly path: string;
  /** The earlier name of a file that was renamed or copied. */
  readonly from: string | undefined;
  /** The change that is added for the next commit. */
  readonly staged: GitChange | undefined;
  /** The change that is not added yet. */
  readonly unstaged: GitChange | undefined;
}

/** The state of a working tree. */
export interface GitStatus {
  /** Undefined when a commit is checked out, and no branch. */
  readonly branch: string | undefined;
  /** Undefined before the first. */
  readonly commit: string | undefined;
  /** Branch that is followed, such as `origin/main`. */
  readonly upstream: string | undefined;
  /** Commits that the upstream is missing, as of the last fetch. */
  readonly ahead: number;
  /** Commits that are in the upstream only, as of the last fetch. */
  readonly behind: number;
  /** No file differs. */
  readonly clean: boolean;
  readonly files: GitFileStatus[];
}

/** A local branch. */
export interface GitBranch {
  readonly name: string;
  readonly commit: string;
  /** True for the branch that is checked out. */
  readonly current: boolean;
  /** Branch that it follows. */
  readonly upstream: string | undefined;
}

/** One commit. */
export interface GitCommit {
  readonly commit: string;
  readonly parents: string[];
  readonly author: { readonly name: string; readonly email: string };
  /** When it was written. */
  readonly date: Date;
  /** The whole message, without spaces at its end. */
  readonly message: string;
}

/** The effect of a push on one branch or tag of the remote. */
export interface GitPushedRef {
  /** Full name, such as `refs/heads/main`. */
  readonly ref: string;
  readonly change: 'created' | 'updated' | 'forced' | 'deleted' | 'none';
}

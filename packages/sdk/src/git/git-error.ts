import { SvcError, type SvcErrorDetails } from '../errors/svc-error.js';

/** Why git failed. `other`: for a reason that is in `stderr` alone. */
export type GitFailure =
  | 'authentication'
  | 'not_a_repository'
  | 'not_found'
  | 'already_exists'
  | 'conflict'
  | 'local_changes'
  | 'nothing_to_commit'
  | 'identity_unknown'
  | 'rejected'
  | 'no_upstream'
  | 'patch_failed'
  | 'unreachable'
  | 'foreign_owner'
  | 'locked'
  | 'git_missing'
  | 'other';

/** Git ended with a failure. `reason` is for programs; the message says what to do, and ends with git's own words. */
export class GitError extends SvcError {
  static override readonly kind: string = 'GitError';
  static override readonly code: string = 'git';
  readonly reason: GitFailure;
  /** Exit status of git. */
  readonly exitCode: number;
  /** Git's output, both streams, without passwords in addresses. */
  readonly output: string;
  /** Files with conflicts, from the top of the repository. */
  readonly conflicts: readonly string[];

  constructor(
    message: string,
    {
      reason,
      exitCode,
      output,
      conflicts = [],
    }: { reason: GitFailure; exitCode: number; output: string; conflicts?: readonly string[] | undefined },
    details: SvcErrorDetails = {},
  ) {
    super(message, details);
    this.reason = reason;
    this.exitCode = exitCode;
    this.output = output;
    this.conflicts = conflicts;
  }
}

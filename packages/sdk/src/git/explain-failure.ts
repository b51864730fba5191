import type { GitFailure } from './git-error.js';

interface Explanation {
  reason: GitFailure;
  /** The failure and its remedy. */
  hint: string;
}

/** In the order in which they are tried: messages about a cause come before those about its consequence. */
const table: readonly (Explanation & { pattern: RegExp })[] = [
  {
    pattern: /git: (command )?not found|exec: git/,
    reason: 'git_missing',
    hint: 'the template has no git: install it, or use another template',
  },
  {
    pattern: /dubious ownership/,
    reason: 'foreign_owner',
    hint: 'the repository belongs to another user: pass `user`',
  },
  {
    pattern: /not a git repository/,
    reason: 'not_a_repository',
    hint: '`cwd` is not in a repository',
  },
  {
    pattern:
      /Authentication failed|could not read (Username|Password)|Access denied|Permission denied \(|error: 40[13]|Invalid username or/i,
    reason: 'authentication',
    hint: 'the remote wants a credential, or does not take this one: use git.authorize with a secret that is valid there',
  },
  {
    pattern: /error: 502/,
    reason: 'unreachable',
    hint: 'answered 502: by the remote, or because the secret of a network rule does not exist (any more)',
  },
  {
    pattern: /\.lock': File exists|index\.lock/,
    reason: 'locked',
    hint: 'another git is at work in this repository: wait for it',
  },
  {
    pattern: /nothing (added )?to commit|no changes added to commit/,
    reason: 'nothing_to_commit',
    hint: 'nothing is added that differs from the last commit: git.add first, or pass `all`',
  },
  {
    pattern: /tell me who you are|unable to auto-detect email|empty ident name/,
    reason: 'identity_unknown',
    hint: 'git does not know who commits: pass `author`, or set user.name and user.email',
  },
  {
    pattern:
      /would be overwritten by|commit your changes or stash them|have unstaged changes|uncommitted changes/,
    reason: 'local_changes',
    hint: 'changes that are in no commit would be lost: commit them first',
  },
  {
    pattern: /CONFLICT|Automatic merge failed|with conflicts|unmerged|needs merge|fix conflicts/,
    reason: 'conflict',
    hint: 'both sides changed the same places: edit the files in `conflicts`, git.add them and commit',
  },
  {
    pattern: /\[(remote )?rejected\]|non-fast-forward|fetch first|stale info/,
    reason: 'rejected',
    hint: 'the remote refused: it has commits that are not here (pull first), or does not allow it',
  },
  {
    pattern: /no upstream|no tracking information|not currently on a branch|not a full refname/,
    reason: 'no_upstream',
    hint: 'no branch of a remote is followed here: pass `remote` and `branch`',
  },
  {
    pattern:
      /already exists in (index|working directory)|patch does not apply|patch failed|corrupt patch|No valid patches|patch fragment|does not exist in index/,
    reason: 'patch_failed',
    hint: 'the patch does not fit these files, and nothing was changed',
  },
  {
    pattern: /already exists/,
    reason: 'already_exists',
    hint: 'it is there already: choose another name',
  },
  {
    pattern:
      /not found|does not appear to be a git|couldn't find remote ref|did not match any|unknown revision|bad revision|invalid reference|not a valid|No such (file|remote)|cannot change to|does not exist/i,
    reason: 'not_found',
    hint: 'the repository, branch, commit or file is not there, or the credential may not see it',
  },
  {
    pattern: /Could not resolve host|Failed to connect|Connection (refused|reset|timed out)|unable to access/,
    reason: 'unreachable',
    hint: 'the remote cannot be reached: the network settings of the sandbox have to allow its host',
  },
];

/** Why git failed, by what it wrote. Pure. */
export function explainFailure(output: string): Explanation {
  const found = table.find(({ pattern }) => pattern.test(output));
  return found ?? { reason: 'other', hint: 'git failed' };
}

/** Returns git's output without user and password in addresses. */
export function withoutPasswords(output: string): string {
  return output.replace(/:\/\/[^\s/@]+@/g, '://***@');
}

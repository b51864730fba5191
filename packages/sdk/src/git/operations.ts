import { addressOf, authorize } from './authorize.js';
import { GitError } from './git-error.js';
import type {
  ApplyOptions,
  CheckoutOptions,
  CloneOptions,
  CommitOptions,
  DiffOptions,
  LogOptions,
  PullOptions,
  PushOptions,
} from './options.js';
import {
  branchFormat,
  commitFormat,
  parseBranches,
  parseCommits,
  parsePush,
  parseStatus,
} from './parse-output.js';
import type { GitBranch, GitCommit, GitPushedRef, GitStatus } from './records.js';
import { type GitCall, refName, refuse, runGit, withRemoteTimeout } from './run-git.js';

export { authorize };

export async function clone(given: GitCall<CloneOptions>, url: string): Promise<{ path: string }> {
  const call = withRemoteTimeout(given);
  addressOf(call, url);
  const { branch, depth, credential } = call.options;
  const path = call.options.path ?? nameOf(call, url);
  if (depth !== undefined && !(Number.isInteger(depth) && depth > 0)) {
    throw refuse(call, `depth must be a whole number above 0, got ${depth}.`);
  }
  if (credential !== undefined) await authorize(call, url, credential);
  await runGit(call, [
    'clone',
    '--quiet',
    ...(branch === undefined ? [] : ['--branch', refName(call, 'branch', branch)]),
    ...(depth === undefined ? [] : ['--depth', String(depth)]),
    '--',
    url,
    path,
  ]);
  const top = await runGit(call, ['-C', path, 'rev-parse', '--show-toplevel']);
  return { path: top.replace(/\n$/, '') };
}

/** The directory that git makes of an address. */
function nameOf(call: GitCall, url: string): string {
  const name =
    url
      .replace(/[/]+$/, '')
      .replace(/\.git$/, '')
      .split(/[/:]/)
      .at(-1) ?? '';
  if (/^[\w.-]+$/.test(name) && !/^(-|\.+$)/.test(name)) return name;
  throw refuse(call, 'the address does not say what to call the directory: pass `path`.');
}

export async function status(call: GitCall): Promise<GitStatus> {
  const args = ['status', '--porcelain=v2', '--branch', '--untracked-files=all', '-z'];
  return parseStatus(await runGit(call, args, { envs: { GIT_OPTIONAL_LOCKS: '0' } }));
}

export async function branches(call: GitCall): Promise<GitBranch[]> {
  return parseBranches(await runGit(call, ['for-each-ref', `--format=${branchFormat}`, 'refs/heads']));
}

export async function checkout(call: GitCall<CheckoutOptions>, ref: string): Promise<void> {
  const { create, from } = call.options;
  const name = refName(call, 'ref', ref);
  if (from !== undefined && create !== true)
    throw refuse(call, '`from` is where a new branch starts: pass `create`.');
  const start = from === undefined ? [] : [refName(call, 'from', from)];
  await runGit(call, ['checkout', '--quiet', ...(create ? ['-b', name, ...start] : [name]), '--']);
}

export async function add(call: GitCall, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) throw refuse(call, 'paths is empty. Without paths everything is added.');
  await runGit(call, ['add', '--all', '--', ...paths]);
}

export async function commit(call: GitCall<CommitOptions>, message: string): Promise<GitCommit> {
  if (message.trim() === '') throw refuse(call, 'the message is empty.');
  const { all, allowEmpty, author } = call.options;
  const names: Record<string, string> =
    author === undefined
      ? {}
      : {
          GIT_AUTHOR_NAME: author.name,
          GIT_AUTHOR_EMAIL: author.email,
          GIT_COMMITTER_NAME: author.name,
          GIT_COMMITTER_EMAIL: author.email,
        };
  const flags = [...(all ? ['--all'] : []), ...(allowEmpty ? ['--allow-empty'] : [])];
  await runGit(call, ['commit', ...flags, '--cleanup=whitespace', '--file=-'], {
    envs: names,
    stdin: message,
  });
  return (await latest(call))!;
}

export async function push(given: GitCall<PushOptions>): Promise<GitPushedRef[]> {
  const call = withRemoteTimeout(given);
  const { remote: to = 'origin', branch = 'HEAD' } = call.options;
  const remote = refName(call, 'remote', to);
  const ref = refName(call, 'branch', branch);
  const force = call.options.force ? ['--force-with-lease'] : [];
  return parsePush(await runGit(call, ['push', '--porcelain', '--set-upstream', ...force, remote, ref]));
}

export async function pull(given: GitCall<PullOptions>): Promise<{ commit: string; updated: boolean }> {
  const call = withRemoteTimeout(given);
  const { remote, branch, rebase } = call.options;
  if (branch !== undefined && remote === undefined) throw refuse(call, '`branch` needs `remote`.');
  const from = [
    ...(remote === undefined ? [] : [refName(call, 'remote', remote)]),
    ...(branch === undefined ? [] : [refName(call, 'branch', branch)]),
  ];
  const before = await latest(call);
  await withConflicts(call, ['pull', '--quiet', rebase ? '--rebase' : '--no-rebase', ...from]);
  const after = (await latest(call))?.commit ?? '';
  return { commit: after, updated: after !== before?.commit };
}

/** The commit that is checked out. */
async function latest(call: GitCall): Promise<GitCommit | undefined> {
  const { cwd, user, timeoutMs, signal, requestTimeoutMs } = call.options;
  const [commit] = await log({
    ...call,
    options: { cwd, user, timeoutMs, signal, requestTimeoutMs, limit: 1 },
  });
  return commit;
}

/** Runs what may leave conflicts in files; its failure names them. */
async function withConflicts(call: GitCall, args: readonly string[], stdin?: string): Promise<void> {
  try {
    await runGit(call, args, stdin === undefined ? {} : { stdin });
  } catch (error) {
    if (!GitError.is(error) || error.reason !== 'conflict') throw error;
    const { exitCode, output, message, operation, reason } = error;
    const list = await runGit(call, ['diff', '--name-only', '--diff-filter=U', '-z']);
    const conflicts = list.split('\0').filter((path) => path !== '');
    throw new GitError(message, { reason, exitCode, output, conflicts }, { operation });
  }
}

export async function diff(call: GitCall<DiffOptions>): Promise<string> {
  const { staged, from, to, paths = [] } = call.options;
  if (to !== undefined && from === undefined) throw refuse(call, '`to` needs `from`.');
  if (to !== undefined && staged) throw refuse(call, 'use `staged` or `to`, not both.');
  return runGit(call, [
    'diff',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
    '--binary',
    ...(staged ? ['--cached'] : []),
    ...(from === undefined ? [] : [refName(call, 'from', from)]),
    ...(to === undefined ? [] : [refName(call, 'to', to)]),
    '--',
    ...paths,
  ]);
}

export async function apply(call: GitCall<ApplyOptions>, patch: string): Promise<void> {
  if (patch.trim() === '') throw refuse(call, 'the patch is empty.');
  const { index, threeWay } = call.options;
  const flags = [...(index ? ['--index'] : []), ...(threeWay ? ['--3way'] : [])];
  await withConflicts(call, ['apply', ...flags, '-'], patch);
}

export async function log(call: GitCall<LogOptions>): Promise<GitCommit[]> {
  const { limit = 50, ref, paths = [] } = call.options;
  if (!(Number.isInteger(limit) && limit >= 0)) {
    throw refuse(call, `limit must be a whole number from 0, got ${limit}.`);
  }
  const args = ['log', '-z', `--max-count=${limit}`, `--format=${commitFormat}`];
  const start = ref === undefined ? [] : [refName(call, 'ref', ref)];
  try {
    return parseCommits(await runGit(call, [...args, ...start, '--', ...paths]));
  } catch (error) {
    if (GitError.is(error) && /does not have any commits yet/.test(error.output)) return [];
    throw error;
  }
}

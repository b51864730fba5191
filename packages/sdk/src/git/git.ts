import type {
  ApplyOptions,
  CheckoutOptions,
  CloneOptions,
  CommitOptions,
  DiffOptions,
  GitCredential,
  GitOptions,
  LogOptions,
  PullOptions,
  PushOptions,
} from './options.js';
import type { GitBranch, GitCommit, GitPushedRef, GitStatus } from './records.js';
import type { GitCall, GitSandbox } from './run-git.js';

type Operations = typeof import('./operations.js');

/**
 * Git inside a sandbox, by the `git` of its template. Each method throws a {@link GitError} when git fails, and
 * InvalidRequestError for arguments that make no sense, before anything is run.
 */
export class Git {
  readonly #sandbox: GitSandbox;

  /** @internal */
  constructor(sandbox: GitSandbox) {
    this.#sandbox = sandbox;
  }

  /**
   * Clones a repository.
   * @param url `https://…`, `ssh://…`, `host:path` or a path inside. Never with a password: use `credential`.
   * @param options `credential`: as {@link Git.authorize}, for the host of `url`.
   * @returns the top directory of the working tree
   * @throws GitError `authentication`, `not_found`, `unreachable`, `already_exists`
   * @example
   * const { path } = await sandbox.git.clone('https://github.com/acme/app.git', { credential: secret('github-token') });
   * @wire process.Process/Start, getSandbox, updateSandboxNetwork
   */
  clone(url: string, options: CloneOptions = {}): Promise<{ path: string }> {
    return this.#run('clone', options, url);
  }

  /**
   * Lets programs of the sandbox, git among them, use a credential for a host, which none of them sees: a network rule
   * adds the `authorization` header outside of the sandbox. Other network settings stay. It holds for the life of the
   * sandbox and its forks, for every program in it. Calls of one handle run one after another.
   * @param url any address on the host. It must be yours, never one that was read inside the sandbox.
   * @throws InvalidRequestError where network settings cannot be enforced (the `process` driver), for an address other
   *   than https, and when a rule for the host sets another authorization
   * @example
   * await sandbox.git.authorize('https://github.com', secret('github-token'));
   * @wire getSandbox, updateSandboxNetwork
   */
  authorize(url: string, credential: GitCredential, options: GitOptions = {}): Promise<void> {
    return this.#run('authorize', options, url, credential);
  }

  /**
   * Reads what is checked out, and which files differ.
   * @throws GitError `not_a_repository`
   * @example
   * const { branch, clean, files } = await sandbox.git.status({ cwd: 'app' });
   * @wire process.Process/Start
   */
  status(options: GitOptions = {}): Promise<GitStatus> {
    return this.#run('status', options);
  }

  /**
   * Lists local branches.
   * @throws GitError `not_a_repository`
   * @example
   * const names = (await sandbox.git.branches({ cwd: 'app' })).map(({ name }) => name);
   * @wire process.Process/Start
   */
  branches(options: GitOptions = {}): Promise<GitBranch[]> {
    return this.#run('branches', options);
  }

  /**
   * Checks out a branch, tag or commit; with `create` a new branch.
   * @throws GitError `not_found`, `already_exists`, `local_changes`
   * @example
   * await sandbox.git.checkout('fix/typo', { cwd: 'app', create: true });
   * @wire process.Process/Start
   */
  checkout(ref: string, options: CheckoutOptions = {}): Promise<void> {
    return this.#run('checkout', options, ref);
  }

  /**
   * Adds files to the next commit, deleted ones too.
   * @param paths files, directories and patterns of git, from `cwd`. Default: everything below `cwd`.
   * @throws GitError `not_found`, `locked`
   * @example
   * await sandbox.git.add(['src'], { cwd: 'app' });
   * @wire process.Process/Start
   */
  add(paths: readonly string[] = ['.'], options: GitOptions = {}): Promise<void> {
    return this.#run('add', options, paths);
  }

  /**
   * Commits what was added.
   * @throws GitError `nothing_to_commit`, `identity_unknown`, `conflict`
   * @example
   * const author = { name: 'Agent', email: 'agent@example.com' };
   * const { commit } = await sandbox.git.commit('Fix the typo', { cwd: 'app', all: true, author });
   * @wire process.Process/Start
   */
  commit(message: string, options: CommitOptions = {}): Promise<GitCommit> {
    return this.#run('commit', options, message);
  }

  /**
   * Pushes a branch, which follows the remote's from then on.
   * @returns what was done to each branch of the remote
   * @throws GitError `rejected`, `authentication`, `unreachable`, `not_found`
   * @example
   * await sandbox.git.push({ cwd: 'app' });
   * @wire process.Process/Start
   */
  push(options: PushOptions = {}): Promise<GitPushedRef[]> {
    return this.#run('push', options);
  }

  /**
   * Fetches and merges, or with `rebase` puts local commits on top.
   * @throws GitError `conflict` with `conflicts`, `no_upstream`, `local_changes`, `authentication`, `unreachable`
   * @example
   * const { updated } = await sandbox.git.pull({ cwd: 'app', rebase: true });
   * @wire process.Process/Start
   */
  pull(options: PullOptions = {}): Promise<{ commit: string; updated: boolean }> {
    return this.#run('pull', options);
  }

  /**
   * Gives changes as a patch, which {@link Git.apply} takes. Empty when there are none. Bytes of text files that are not
   * UTF-8 are not kept: write such a patch to a file inside with `commands.run`.
   * @throws GitError `not_found`
   * @example
   * const patch = await sandbox.git.diff({ cwd: 'app', from: 'main' });
   * @wire process.Process/Start
   */
  diff(options: DiffOptions = {}): Promise<string> {
    return this.#run('diff', options);
  }

  /**
   * Applies a patch to the files, all of it or nothing.
   * @throws GitError `patch_failed`; with `threeWay` `conflict` with `conflicts`
   * @example
   * const patch = await sandbox.git.diff({ cwd: 'one' });
   * await sandbox.git.apply(patch, { cwd: 'two', index: true });
   * @wire process.Process/Start
   */
  apply(patch: string, options: ApplyOptions = {}): Promise<void> {
    return this.#run('apply', options, patch);
  }

  /**
   * Reads commits, newest first. Empty before the first.
   * @throws GitError `not_found`, `not_a_repository`
   * @example
   * const [latest] = await sandbox.git.log({ cwd: 'app', limit: 1 });
   * @wire process.Process/Start
   */
  log(options: LogOptions = {}): Promise<GitCommit[]> {
    return this.#run('log', options);
  }

  async #run<Name extends keyof Operations>(
    name: Name,
    options: GitOptions,
    ...args: unknown[]
  ): Promise<Awaited<ReturnType<Operations[Name]>>> {
    const operations = await import('./operations.js');
    const call: GitCall = { sandbox: this.#sandbox, operation: `git.${name}`, options };
    return Reflect.apply(operations[name], undefined, [call, ...args]);
  }
}

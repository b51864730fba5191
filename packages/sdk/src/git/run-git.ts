import type { CommandResult, RunCommandOptions } from '../commands/options.js';
import { quote } from '../commands/shell.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { explainFailure, withoutPasswords } from './explain-failure.js';
import { GitError } from './git-error.js';
import type { GitOptions } from './options.js';

/** Network settings as far as they are read and written here. */
export interface GitNetwork {
  allowInternetAccess?: boolean | undefined;
  allowOut?: string[] | undefined;
  denyOut?: string[] | undefined;
  egressProxy?: { address: string; username?: string | undefined } | undefined;
  rules?: Record<string, { transform?: { headers?: Record<string, string> } | undefined }[]> | undefined;
}

/** The part of a sandbox that git needs. */
export interface GitSandbox {
  run(line: string, options: RunCommandOptions): Promise<CommandResult>;
  readNetwork(options: GitOptions): Promise<GitNetwork>;
  replaceNetwork(network: GitNetwork, options: GitOptions): Promise<void>;
}

/** One call of a user. */
export interface GitCall<Options extends GitOptions = GitOptions> {
  sandbox: GitSandbox;
  /** Name of the SDK call, for errors. */
  operation: string;
  options: Options;
}

/** Git asks nobody, and speaks English, by which its failures are distinguished. */
const envs = { GIT_TERMINAL_PROMPT: '0', GIT_PAGER: 'cat', GIT_EDITOR: 'true', LC_ALL: 'C.UTF-8' };
const longestTail = 2000;

/** Runs git with arguments, each as it is. @throws GitError when it fails */
export async function runGit(
  call: GitCall,
  args: readonly string[],
  { envs: more = {}, stdin }: { envs?: Record<string, string>; stdin?: string } = {},
): Promise<string> {
  const { cwd, user, timeoutMs, signal, requestTimeoutMs } = call.options;
  const line = ['git', '-c', 'core.quotePath=false', ...args].map(quote).join(' ');
  const result = await call.sandbox.run(line, {
    cwd,
    user,
    signal,
    requestTimeoutMs,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    envs: { ...envs, ...more },
    ...(stdin === undefined ? {} : { stdin }),
    check: false,
  });
  if (result.exitCode === 0) return result.stdout;
  throw failure(call, result);
}

export function failure({ operation }: GitCall, { exitCode, stdout, stderr }: CommandResult): GitError {
  const output = withoutPasswords([stdout.trim(), stderr.trim()].filter((text) => text !== '').join('\n'));
  const { reason, hint } = explainFailure(output);
  return new GitError(
    `${operation}: ${hint}.\n${output.slice(-longestTail)}`,
    { reason, exitCode, output },
    { operation },
  );
}

export function refuse({ operation }: GitCall, message: string): InvalidRequestError {
  return new InvalidRequestError(`${operation}: ${message}`, { operation });
}

/** A name of a branch, commit or remote. What begins with a dash git would take for an option. */
export function refName(call: GitCall, what: string, name: string): string {
  if (name !== '' && !name.startsWith('-') && !name.includes('\0')) return name;
  throw refuse(call, `${what} must be a name and must not begin with "-", got ${JSON.stringify(name)}.`);
}

/** Longest life of what waits for a remote, ms. */
export const remoteTimeoutMs = 300_000;

export function withRemoteTimeout<Options extends GitOptions>(call: GitCall<Options>): GitCall<Options> {
  return { ...call, options: { ...call.options, timeoutMs: call.options.timeoutMs ?? remoteTimeoutMs } };
}

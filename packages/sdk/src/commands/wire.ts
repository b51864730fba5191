import type { ProcessInfo as WireProcessInfo } from '@svc/daemon';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { StartRequestInit } from '../process/process-events.js';
import type { ProcessInfo, StartCommandOptions } from './options.js';

/**
 * Checks what a caller without types may get wrong: a program with a list of arguments instead of a command line.
 * @throws InvalidRequestError
 */
export function checkLine(operation: string, line: unknown, options: unknown): void {
  const hint = 'Quote values with quote(), or write sandbox.$`program ${value}`, which quotes them.';
  if (typeof line !== 'string') {
    const got = Array.isArray(line) ? 'a list' : line === null ? 'null' : typeof line;
    throw new InvalidRequestError(`${operation}: the command line must be a string, got ${got}. ${hint}`, {
      operation,
    });
  }
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const text = `${operation}: the second parameter holds options, not arguments of the program. ${hint}`;
    throw new InvalidRequestError(text, { operation });
  }
}

/** The request that runs a command line in a login shell. */
export function toStartRequest(line: string, options: StartCommandOptions): StartRequestInit {
  const { cwd, envs, tag, stdin = false } = options;
  return {
    process: {
      cmd: '/bin/bash',
      args: ['-l', '-c', line],
      ...(envs === undefined ? {} : { envs }),
      ...(cwd === undefined ? {} : { cwd }),
    },
    ...(tag === undefined ? {} : { tag }),
    stdin,
  };
}

/** One running process. */
export function fromProcessInfo(process: WireProcessInfo): ProcessInfo {
  const { config, pid, tag, startedAt } = process;
  return {
    pid,
    tag,
    command: config?.cmd ?? '',
    args: config?.args ?? [],
    envs: config?.envs ?? {},
    cwd: config?.cwd,
    startedAt: startedAt && new Date(Number(startedAt.seconds) * 1000 + startedAt.nanos / 1e6),
  };
}

import type { ProcessInfo as WireProcessInfo } from '@svc/daemon';
import type { StartRequestInit } from '../process/process-events.js';
import type { ProcessInfo, StartCommandOptions } from './options.js';

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

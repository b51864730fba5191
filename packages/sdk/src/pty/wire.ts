import type { StartRequestInit } from '../process/process-events.js';
import type { CreatePtyOptions } from './options.js';

const terminal = { TERM: 'xterm-256color', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };

/** The request that opens a terminal. */
export function toPtyRequest(options: CreatePtyOptions): StartRequestInit {
  const { cols = 80, rows = 24, command = ['/bin/bash', '-i', '-l'], cwd, envs, tag } = options;
  const [cmd, ...args] = command;
  return {
    process: { cmd, args, envs: { ...terminal, ...envs }, ...(cwd === undefined ? {} : { cwd }) },
    pty: { size: { cols, rows } },
    ...(tag === undefined ? {} : { tag }),
  };
}

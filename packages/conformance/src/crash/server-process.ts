import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerOptions } from '@svc/server';
import { childProgram } from '@svc/support/testing/child-program';
import type { Tier } from '../embedded-options.js';
import type { Facts, Inspection } from './child.js';

export interface ServerProcess extends Facts {
  inspect(): Promise<Inspection>;
  /** Ends it with no chance to clean up. */
  kill(): Promise<void>;
  /** Lets it stop in order, its sandboxes too. */
  stop(): Promise<void>;
}

export interface ServerProcessOptions {
  /** More settings than those of the suite; what JSON can say. */
  settings?: Partial<ServerOptions>;
  /** A command that runs the program it is given. */
  within?: readonly string[];
}

/** Starts a server in a child process on a data directory. */
export async function startServerProcess(
  dataDir: string,
  tier: Tier,
  { settings = {}, within = [] }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const { options, file } = childProgram(new URL('./child.ts', import.meta.url));
  const [program, ...words] = [...within, process.execPath, ...options, file, dataDir, tier];
  const child = spawn(program!, [...words, JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let errors = '';
  child.stderr!.on('data', (piece) => {
    errors = (errors + String(piece)).slice(-4_000);
  });
  const gone = once(child, 'exit');
  const ask = async <T>(): Promise<T> => {
    const [answer] = (await Promise.race([
      once(child, 'message', { signal: AbortSignal.timeout(120_000) }),
      gone.then(() => {
        throw new Error(`the server process ended: ${errors}`);
      }),
    ])) as [T];
    return answer;
  };
  const at = await ask<Facts>();
  return {
    ...at,
    inspect() {
      const answer = ask<Inspection>();
      child.send('inspect');
      return answer;
    },
    kill: () => end(child, gone, () => child.kill('SIGKILL')),
    stop: () => end(child, gone, () => child.send('stop')),
  };
}

async function end(child: ChildProcess, gone: Promise<unknown>, how: () => void): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    how();
    await gone;
  }
}

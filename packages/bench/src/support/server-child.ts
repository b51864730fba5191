import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Isolation } from '@svc/runtime/contract';

export interface ServerRequest {
  driver: 'linux' | 'process' | 'incus';
  poolSize: number;
  /** Default: the server's. */
  poolMemoryMiB?: number;
  /** Of the `linux` driver. Default: `container`. */
  isolation?: Isolation;
  /** Of the `incus` driver: where a member answers. */
  incusAddress?: string;
}

/** Orders for the process of the server. */
export interface ServerOrders extends ServerRequest {
  /** Removed by who starts the process: the server gives up the rights for it. */
  dataDir: string;
}

/** A server in a process of its own, so that client and server do not share an event loop. */
export interface ServerChild extends AsyncDisposable {
  apiUrl: string;
  sandboxUrl: string;
  apiKey: string;
  /** The server itself. */
  pid: number;
  /** The process that was started, of which all others descend: the one with the rights of root, where there are two. */
  rootPid: number;
  /** Settles once the warm pool is full again. */
  poolReady(): Promise<void>;
  /** Returns the delay of its event loop since the last call, p99, ms. */
  eventLoopDelayMs(): Promise<number>;
}

export async function startServerChild(request: ServerRequest): Promise<ServerChild> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
  const child: ChildProcess = fork(fileURLToPath(new URL('./server-process.js', import.meta.url)), [
    JSON.stringify({ ...request, dataDir } satisfies ServerOrders),
  ]);
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the server under measurement ended with code ${String(code)}`);
  });
  failed.catch(() => {});
  const message = async () => (await Promise.race([once(child, 'message'), failed]))[0] as unknown;
  const addresses = (await message()) as {
    apiUrl: string;
    sandboxUrl: string;
    apiKey: string;
    pid: number;
  };
  return {
    ...addresses,
    rootPid: child.pid!,
    async poolReady() {
      child.send('pool');
      await message();
    },
    async eventLoopDelayMs() {
      child.send('event-loop');
      return (await message()) as number;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        const ended = once(child, 'exit');
        child.send('stop');
        await ended;
      }
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

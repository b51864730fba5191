import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface ServerRequest {
  driver: 'linux' | 'process';
  poolSize: number;
}

/** A server in a process of its own, so that client and server do not share an event loop. */
export interface ServerChild extends AsyncDisposable {
  apiUrl: string;
  sandboxUrl: string;
  apiKey: string;
  pid: number;
  /** Settles once the warm pool is full again. */
  poolReady(): Promise<void>;
}

export async function startServerChild(request: ServerRequest): Promise<ServerChild> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./server-process.js', import.meta.url)), [
    JSON.stringify(request),
  ]);
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the server under measurement ended with code ${String(code)}`);
  });
  failed.catch(() => {});
  const message = async () => (await Promise.race([once(child, 'message'), failed]))[0] as unknown;
  const addresses = (await message()) as { apiUrl: string; sandboxUrl: string; apiKey: string };
  return {
    ...addresses,
    pid: child.pid!,
    async poolReady() {
      child.send('pool');
      await message();
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.send('stop');
      await ended;
    },
  };
}

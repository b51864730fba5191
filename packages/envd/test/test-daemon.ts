import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Client, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Process } from '@svc/daemon/gen';
import { splitFrames } from '@svc/support/connect-frames';
import { daemonProgram } from '../location.js';

export interface TestDaemon {
  url: string;
  port: number;
  home: string;
  pid: number;
  child: ChildProcess;
  client: Client<typeof Process>;
  /** Messages go as JSON unless told otherwise. */
  clientAs(user: string, as?: 'json' | 'bytes'): Client<typeof Process>;
  /** Calls a streaming procedure with raw frames and gives the frames of the answer. */
  frames(procedure: string, body: Uint8Array, headers?: Record<string, string>): Promise<Frame[]>;
  stop(): Promise<void>;
}

export interface Frame {
  flags: number;
  json: Record<string, unknown>;
}

/** Starts the shipped program on a free port with an own home directory. */
export async function startDaemon(
  options: { multiUser?: boolean; entry?: string; env?: Record<string, string> } = {},
): Promise<TestDaemon> {
  const home = await mkdtemp(join(tmpdir(), 'envd-test-'));
  const { entry = daemonProgram.entry, env } = options;
  const args = ['--host', '127.0.0.1', '--port', '0', '--ready-fd', '3'];
  if (!options.multiUser) args.push('--single-user', '--home', home);
  const child = spawn(entry, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin', HOME: home, ...env },
  });
  const [line] = (await once(child.stdio[3] as Readable, 'data')) as [Buffer];
  const { port } = JSON.parse(line.toString()) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const clientAs = (user: string, as = 'json') => {
    const basic: Interceptor = (next) => (request) => {
      request.header.set('Authorization', `Basic ${Buffer.from(`${user}:`).toString('base64')}`);
      return next(request);
    };
    const transport = createConnectTransport({
      baseUrl: url,
      httpVersion: '1.1',
      useBinaryFormat: as === 'bytes',
      interceptors: [basic],
    });
    return createClient(Process, transport);
  };
  return {
    url,
    port,
    home,
    pid: child.pid!,
    child,
    client: clientAs(options.multiUser ? 'root' : 'user'),
    clientAs,
    async frames(procedure, body, headers = {}) {
      const response = await fetch(`${url}/process.Process/${procedure}`, {
        method: 'POST',
        body: Buffer.from(body),
        headers: { 'Content-Type': 'application/connect+json', 'Connect-Protocol-Version': '1', ...headers },
      });
      return splitFrames(Buffer.from(await response.arrayBuffer())).map(({ flags, json }) => ({
        flags,
        json: json(),
      }));
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Private and anonymous memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) * 1024;
}

/** Memory that a process shares with nobody, KiB. */
export function privateKiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const sizes = [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)];
  return sizes.reduce((sum, [, kib]) => sum + Number(kib), 0);
}

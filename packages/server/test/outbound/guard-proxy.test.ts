import { execFile } from 'node:child_process';
import { lookup } from 'node:dns';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { openGuardProxy } from '../../src/network/outbound/guard-proxy.js';
import { ForbiddenAddressError } from '../../src/network/outbound/public-lookup.js';
import { guardedCommand } from '../../src/network/outbound/run-guarded.js';

async function serve(answer: string): Promise<number> {
  const server = createServer(async (request, response) => {
    let size = 0;
    for await (const chunk of request) size += (chunk as Buffer).length;
    response.end(`${answer} ${request.method} ${request.url} ${size}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('a guarded program reaches allowed hosts, by tunnel and by request, and no other', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-guard-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const socket = path.join(directory, 'guard.sock');
  const guard = await openGuardProxy(socket, {
    assertHost: (host) => {
      if (host !== 'localhost') throw new ForbiddenAddressError(host);
    },
    lookup: lookup as never,
  });
  onTestFinished(() => guard.close());
  const port = await serve('hello');
  const curl = async (...words: string[]) => {
    const [program, args] = guardedCommand({ socket }, 'curl', ['-sS', '--max-time', '10', ...words]);
    return (await promisify(execFile)(program, args)).stdout;
  };
  expect(await curl(`http://localhost:${port}/a`)).toBe('hello GET /a 0');
  expect(await curl('--proxytunnel', `http://localhost:${port}/b`)).toBe('hello GET /b 0');
  expect(await curl('-d', 'x'.repeat(100_000), `http://localhost:${port}/c`)).toBe('hello POST /c 100000');
  expect(guard.refusedHost()).toBeUndefined();
  await expect(curl('-f', `http://other.test:${port}/a`)).rejects.toThrow('403');
  expect(guard.refusedHost()).toBe(`other.test:${port}`);
  await expect(curl('--proxytunnel', `http://127.0.0.2:${port}/a`)).rejects.toThrow();
  // Its own loopback has no service of this machine.
  await expect(curl('--noproxy', '*', `http://127.0.0.1:${port}/a`)).rejects.toThrow(/refused|connect/i);
});

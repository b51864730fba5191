import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseProcStat } from '#support/process-identity';
import { DriverError } from '../../src/contract.js';
import { selectMembers } from '../../src/process-driver/process-tree.js';
import { lockDataDir } from '../../src/shared/data-dir-lock.js';
import { dialTcp } from '../../src/shared/dial.js';
import { nextDelay, waitForDaemon } from '../../src/shared/readiness.js';
import { tunnelThroughDaemon } from '../../src/shared/tunnel.js';

describe('the lock of a data directory', () => {
  it('is refused as busy while another driver of a living process holds it', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'lock-'));
    try {
      const first = await lockDataDir(dataDir);
      const second = await lockDataDir(dataDir).catch((error: unknown) => error);
      expect(DriverError.is(second) && second.code).toBe('busy');
      await first.release();
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

describe('the tunnel', () => {
  async function daemon(answer: (socket: Socket, head: string) => void) {
    const server = createServer((socket) => socket.once('data', (data) => answer(socket, String(data))));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      dial: (signal?: AbortSignal) => dialTcp('127.0.0.1', port, signal),
      [Symbol.dispose]: () => server.close(),
    };
  }

  it('gives what follows the answer, even in the same packet', async () => {
    using server = await daemon((socket, head) => {
      expect(head).toMatch(/^CONNECT 127\.0\.0\.1:8080 HTTP\/1\.1\r\n/);
      socket.end('HTTP/1.1 200 Connection Established\r\n\r\nearly');
    });
    const socket = await tunnelThroughDaemon(server.dial, 8080);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe('early');
  });

  it.each([
    ['HTTP/1.1 502 Bad Gateway\r\n\r\n', 'port_closed'],
    ['HTTP/1.1 20', 'instance_gone'],
  ])('turns the answer %j into %s', async (answer, code) => {
    using server = await daemon((socket) => socket.end(answer));
    const error = await tunnelThroughDaemon(server.dial, 8080).catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe(code);
  });
});

describe('waiting for the daemon', () => {
  const nobody = () => Promise.reject(new DriverError('port_closed', 'Nothing listens.'));

  it('ends at the deadline', async () => {
    const error = await waitForDaemon(nobody, { timeoutMs: 30 }).catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('timeout');
  });

  it('ends at once when it is pointless', async () => {
    const waiting = waitForDaemon(nobody, { timeoutMs: 60_000, gaveUp: () => 'It ended.' });
    const error = await waiting.catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('instance_gone');
  });

  it.each([6, 20, 65, 100, 300, 3000])(
    'asks a daemon that is ready after %i ms soon after that',
    (readyMs) => {
      let [at, delay, probes] = [0, 2, 1];
      for (; at < readyMs; probes++) {
        at += delay;
        delay = nextDelay(delay, at);
      }
      expect(at - readyMs).toBeLessThanOrEqual(Math.min(50, Math.max(8, readyMs / 4)));
      expect(probes).toBeLessThan(20 + readyMs / 50);
    },
  );

  it('rejects with the reason of an abort', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const waiting = waitForDaemon(nobody, { timeoutMs: 60_000, signal: abort.signal });
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe('the members of an instance', () => {
  const entry = (pid: number, ppid: number, sid: number) => ({
    ...{ pid, ppid, sid, pgid: sid },
    ...{ stopped: false, age: pid, cpuTicks: 0 },
  });
  const home = '/data/instances/x/home';
  const table = [
    entry(1, 0, 1),
    entry(10, 1, 10),
    entry(11, 10, 11),
    entry(12, 11, 11),
    entry(20, 1, 20),
    entry(30, 1, 11),
  ];
  const environment = (pids: number[]) => (pid: number) =>
    pids.includes(pid) ? ['A=b', `HOME=${home}`] : [];

  it.each([
    ['descendants of the daemon and their sessions', 10, [], [10, 11, 12, 30]],
    ['marked processes when the daemon has exited', undefined, [20], [20]],
    ['nothing when nothing is known', undefined, [], []],
  ] as const)('are %s', (_, daemonPid, marked, expected) => {
    const members = selectMembers(table, { home, daemonPid }, environment([...marked]), 999);
    expect(members.map(({ pid }) => pid)).toEqual(expected);
  });

  it('never include the process that asks, nor init', () => {
    const members = selectMembers(table, { home, daemonPid: undefined }, environment([10, 20]), 20);
    expect(members.map(({ pid }) => pid)).toEqual([10, 11, 12, 30]);
  });

  it('are read from stat lines whose names hold anything', () => {
    const fields = Array.from({ length: 50 }, (_, i) => String(i + 3)).slice(1);
    expect(parseProcStat(`7 (a) b (c d)) S ${fields.join(' ')}`)).toMatchObject({
      state: 'S',
      ppid: 4,
      sid: 6,
      startTicks: '22',
    });
  });
});

import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { settleDaemon } from '../../src/linux-driver/gvisor/settle-daemon.js';
import { dialTcp } from '../../src/shared/dial.js';
import { hostileAnswers } from '../../src/testing/hostile-daemon.js';

async function listen(server: Server): Promise<(signal?: AbortSignal) => Promise<Socket>> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => open.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (signal) => dialTcp('127.0.0.1', (server.address() as AddressInfo).port, signal);
}

it('has a daemon answer twice over one connection, and keeps that one until it is released', async () => {
  const asked: string[] = [];
  const connections: Socket[] = [];
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    res.writeHead(204).end();
  });
  server.on('connection', (socket) => connections.push(socket));
  const held = await settleDaemon(await listen(server));
  expect(asked).toEqual(['GET /health', 'GET /health']);
  expect(connections).toHaveLength(1);
  expect(connections[0]!.readyState).toBe('open');
  const ended = new Promise((resolve) => connections[0]!.once('close', resolve));
  held[Symbol.dispose]();
  await ended;
});

it.concurrent.each([
  ['nothing', () => undefined] as const,
  ['the end of the connection', (socket: Socket) => socket.destroy()] as const,
  ...Object.entries(hostileAnswers),
])('is not held up, nor broken, by a daemon that answers with %s', async (_name, answer) => {
  const dial = await listen(createTcpServer((socket) => socket.once('data', () => answer(socket))));
  const began = performance.now();
  using _held = await settleDaemon(dial, 500);
  expect(performance.now() - began).toBeLessThan(5_000);
});

it('does without a daemon where none listens', async () => {
  using _held = await settleDaemon(() => dialTcp('127.0.0.1', 1));
});

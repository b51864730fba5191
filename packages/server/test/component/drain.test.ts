import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

const into = (sandbox: { id: string; token: string }) => ({
  'Svc-Sandbox-Id': sandbox.id,
  'Svc-Sandbox-Port': '49983',
  'X-Access-Token': sandbox.token,
});

async function createSandbox(test: TestServer): Promise<{ id: string; token: string }> {
  const { body } = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
  return { id: body.sandboxID, token: body.envdAccessToken };
}

/** Begins an upload of which the rest comes when told. */
function beginUpload(test: TestServer, sandbox: { id: string; token: string }) {
  let body!: ReadableStreamDefaultController<Uint8Array>;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      body = controller;
      body.enqueue(new TextEncoder().encode('first '));
    },
  });
  const answer = fetch(`${test.server.sandboxUrl}/files?path=late.txt`, {
    method: 'POST',
    headers: { ...into(sandbox), 'Content-Type': 'application/octet-stream' },
    body: stream,
    duplex: 'half',
  } as RequestInit);
  return {
    answer,
    finish: () => {
      body.enqueue(new TextEncoder().encode('last'));
      body.close();
    },
  };
}

/** Returns whether some of an upload has gone through the gateway. */
async function underWay(test: TestServer): Promise<boolean> {
  const text = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'm').exec(text)?.[1]);
  return value('svc_gateway_open_requests') > 0;
}

it('lets an upload into a sandbox end that is under way when the server stops', async () => {
  await using test = await startTestServer({ drainMs: 30_000 });
  const sandbox = await createSandbox(test);
  const upload = beginUpload(test, sandbox);
  await eventually('the upload is under way', () => underWay(test));
  const stopped = test.server.stop();
  await eventually('the server drains', () => test.server.context.draining());
  expect((await fetch(`${test.server.apiUrl}/health`)).status).toBe(503);
  upload.finish();
  expect((await upload.answer).status).toBe(200);
  await stopped;
  await test.restart();
  expect(await run(test, sandbox, 'cat late.txt')).toBe('first last');
});

it('breaks off what does not end, and does not say that the sandbox was deleted', async () => {
  await using test = await startTestServer({ drainMs: 200 });
  const sandbox = await createSandbox(test);
  const upload = beginUpload(test, sandbox);
  const failure = upload.answer.then(
    async (response) => `${response.status} ${await response.text()}`,
    (error: Error) => `${error.message} ${String(error.cause)}`,
  );
  await eventually('the upload is under way', () => underWay(test));
  await test.server.stop();
  expect(await failure).not.toMatch(/sandbox/);
  await test.restart();
  expect(await run(test, sandbox, 'echo here')).toBe('here\n');
});

it('stops while clients hold upgraded connections, and such that were refused', async () => {
  await using test = await startTestServer({ drainMs: 100 });
  const sandbox = await createSandbox(test);
  // With the process driver a service of this machine is one inside the sandbox.
  await using service = await serveUpgrades();
  const { port } = new URL(test.server.sandboxUrl);
  const held = await Promise.all(
    [service.port, 1].map(async (to) => {
      const socket = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
      socket.on('error', () => undefined);
      socket.write(
        `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nSvc-Sandbox-Id: ${sandbox.id}\r\nSvc-Sandbox-Port: ${to}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`,
      );
      const [head] = await once(socket, 'data');
      return { socket, status: String(head).split(' ', 2)[1] };
    }),
  );
  expect(held.map(({ status }) => status)).toEqual(['101', '502']);
  await test.server.stop({ destroySandboxes: true });
  for (const { socket } of held) socket.destroy();
});

async function serveUpgrades(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer();
  const sockets: Duplex[] = [];
  server.on('upgrade', (_request, socket) => {
    sockets.push(socket.on('error', () => undefined));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Client } from '@svc/sdk';
import { expect, it, onTestFinished } from 'vitest';
import { readAtMost } from '../src/read-at-most.js';
import { ToolSandboxes } from '../src/tool-sandboxes.js';

it('leaves what a sandbox sends without end', async () => {
  let [sent, left] = [0, false];
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await setImmediate();
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536));
    },
    cancel() {
      left = true;
    },
  });
  expect(await readAtMost(endless, 1_000_000)).toBeUndefined();
  expect(left).toBe(true);
  expect(sent).toBeLessThan(2_000_000);
  const short = new Response('all of it').body!;
  expect(String(await readAtMost(short, 9))).toBe('all of it');
});

it('asks for sandboxes that end by themselves when the tools are killed, and for one of a name that stays', async () => {
  const asked: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    if (request.method === 'POST') asked.push(JSON.parse(body));
    response.writeHead(request.method === 'POST' ? 503 : 200, { 'Content-Type': 'application/json' });
    response.end(request.method === 'POST' ? '{"code":503,"message":"full"}' : '[]');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Client({ apiUrl, apiKey: 'svc_0', maxRetries: 0, logLevel: 'off' });
  for (const name of [undefined, 'kept']) {
    const sandboxes = new ToolSandboxes({ client, name });
    await expect(sandboxes.use()).rejects.toThrow(/full/);
    await sandboxes.close();
  }
  expect(asked.map(({ autoPause, timeout }) => ({ autoPause, timeout }))).toEqual([
    { autoPause: undefined, timeout: 900 },
    { autoPause: true, timeout: 900 },
  ]);
});

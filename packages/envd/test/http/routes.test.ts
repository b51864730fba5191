import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { frame, frameHead } from '@svc/support/connect-frames';
import { eventually } from '@svc/support/eventually';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { collect, shell } from '../process/collect.js';
import { startDaemon, type TestDaemon } from '../test-daemon.js';

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startDaemon();
});
afterEach(() => daemon.stop());

const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${daemon.url}${path}`, { method: 'POST', body, headers });
const RPC = { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' };

it('answers /health with 204', async () => {
  expect((await fetch(`${daemon.url}/health`)).status).toBe(204);
});

it('takes state from /init and asks for the token from then on', async () => {
  expect((await post('/init', JSON.stringify({ accessToken: 'first', envVars: { A: '1' } }))).status).toBe(
    204,
  );
  const refused = await fetch(`${daemon.url}/envs`);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('x-content-type-options')).toBe('nosniff');
  expect(await refused.json()).toEqual({ code: 401, message: expect.any(String) });
  expect((await post('/process.Process/List', '{}', RPC)).status).toBe(401);
  expect((await fetch(`${daemon.url}/health`)).status).toBe(204);
  const token = { 'X-Access-Token': 'first' };
  expect(await (await fetch(`${daemon.url}/envs`, { headers: token })).json()).toEqual({ A: '1' });
  expect((await post('/init', JSON.stringify({ accessToken: 'second' }))).status).toBe(401);
  expect((await post('/init', JSON.stringify({ accessToken: 'second' }), token)).status).toBe(204);
  expect((await fetch(`${daemon.url}/envs`, { headers: token })).status).toBe(401);
});

it('ignores an /init that is older than the last', async () => {
  const init = (timestamp: string, value: string) =>
    post('/init', JSON.stringify({ timestamp, envVars: { A: value } })).then(({ status }) => status);
  expect(await init('2026-01-01T00:00:02Z', 'new')).toBe(204);
  expect(await init('2026-01-01T00:00:01Z', 'old')).toBe(204);
  expect(await (await fetch(`${daemon.url}/envs`)).json()).toEqual({ A: 'new' });
  const { stdout } = await collect(daemon.client.start(shell('echo $A')));
  expect(stdout).toBe('new\n');
});

it('refuses an /init that is not JSON without quoting it', async () => {
  const response = await post('/init', '{"accessToken": "hush');
  expect(response.status).toBe(400);
  expect(await response.text()).not.toContain('hush');
});

it('reports metrics and never lets them be stored', async () => {
  const response = await fetch(`${daemon.url}/metrics`);
  expect(response.headers.get('cache-control')).toBe('no-store');
  const metrics = (await response.json()) as Record<string, number>;
  expect(metrics.mem_total).toBeGreaterThan(metrics.mem_used!);
  expect(metrics.disk_total).toBeGreaterThan(0);
  expect(metrics.cpu_count).toBeGreaterThanOrEqual(1);
});

it('speaks the Connect protocol strictly', async () => {
  const missing = await post('/process.Process/List', '{}', { 'Content-Type': 'application/json' });
  expect([missing.status, ((await missing.json()) as { code: string }).code]).toEqual([
    400,
    'invalid_argument',
  ]);
  const type = await post('/process.Process/List', '{}', { ...RPC, 'Content-Type': 'text/plain' });
  expect([type.status, type.headers.get('accept-post')]).toEqual([
    415,
    expect.stringContaining('application/json'),
  ]);
  const method = await fetch(`${daemon.url}/process.Process/List`);
  expect([method.status, method.headers.get('allow')]).toEqual([405, 'POST']);
  expect((await post('/process.Process/Nothing', '{}', RPC)).status).toBe(404);
  const timeout = await post('/process.Process/List', '{}', { ...RPC, 'Connect-Timeout-Ms': 'soon' });
  expect(timeout.status).toBe(400);
  const none = await post('/process.Process/List', '{}', { ...RPC, 'Connect-Timeout-Ms': '0' });
  expect([none.status, await none.json()]).toEqual([200, {}]);
  const broken = await post('/process.Process/List', '{', RPC);
  expect(((await broken.json()) as { code: string }).code).toBe('invalid_argument');
});

it('refuses messages above 64 MiB', async () => {
  const head = frameHead(64 * 1024 * 1024 + 1);
  const frames = await daemon.frames('Start', Buffer.concat([head, Buffer.alloc(1024)]));
  expect(frames.at(-1)?.json).toMatchObject({ error: { code: 'resource_exhausted' } });
  const truncated = await daemon.frames('Start', frame({ process: { cmd: 'true' } }).subarray(0, 12));
  expect(truncated.at(-1)?.json).toMatchObject({ error: { code: 'invalid_argument' } });
});

it('grants every origin, preflight included', async () => {
  const preflight = await fetch(`${daemon.url}/process.Process/Start`, {
    method: 'OPTIONS',
    headers: {
      Origin: 'https://app.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization, x-access-token',
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
  expect(preflight.headers.get('access-control-max-age')).toBe('7200');
});

it('keeps what processes print, line by line', async () => {
  const { pid } = await collect(
    daemon.client.start(shell('echo one; printf two; echo three >&2', { tag: 't' })),
  );
  type Page = { entries: { seq: number; level: string; message: string; fields: object }[]; next: number };
  const read = async (after: number) =>
    (await (await fetch(`${daemon.url}/logs?after=${after}`)).json()) as Page;
  const page = await read(0);
  expect(page.entries.map(({ message }) => message).sort()).toEqual(['one', 'three', 'two']);
  expect(page.entries.find(({ message }) => message === 'three')).toMatchObject({
    level: 'error',
    fields: { pid, stream: 'stderr', tag: 't' },
  });
  expect(await read(page.next)).toEqual({ entries: [], next: page.next, dropped: 0 });
});

it('keeps nothing of what is printed on terminals', async () => {
  const { next } = (await (await fetch(`${daemon.url}/logs?after=0`)).json()) as { next: number };
  const pty = { size: { cols: 80, rows: 24 } };
  const run = await collect(daemon.client.start({ ...shell('echo on-a-terminal'), pty }));
  expect(run.pty).toContain('on-a-terminal');
  await collect(daemon.client.start(shell('echo on-a-pipe')));
  const page = (await (await fetch(`${daemon.url}/logs?after=${next}`)).json()) as {
    entries: { message: string }[];
  };
  expect(page.entries.map(({ message }) => message)).toEqual(['on-a-pipe']);
});

it('tunnels to loopback listeners and nowhere else', async () => {
  const inside = createServer((_, response) => response.end('from inside')).listen(0, '127.0.0.1');
  await new Promise((resolve) => inside.once('listening', resolve));
  const { port } = inside.address() as AddressInfo;
  const ask = (authority: string, then: string) =>
    new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(daemon.port, '127.0.0.1', () =>
        socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`),
      );
      socket.on('data', (bytes) => {
        text += bytes;
        if (then && text.includes('\r\n\r\n')) {
          socket.write(then);
          then = '';
        }
      });
      socket.on('error', reject);
      socket.on('end', () => resolve(text));
    });
  const request = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  expect(await ask(`127.0.0.1:${port}`, request)).toMatch(/^HTTP\/1.1 200[\s\S]*from inside/);
  expect(await ask('192.0.2.1:80', '')).toMatch(/^HTTP\/1.1 403/);
  inside.close();
});

it('ends at once on SIGTERM and takes its processes along', async () => {
  const stream = daemon.client.start(shell('exec sleep 600'))[Symbol.asyncIterator]();
  const first = (await stream.next()).value!.event!.event;
  const pid = first.case === 'start' ? first.value.pid : 0;
  await daemon.stop();
  await stream.next().catch(() => {});
  await eventually('the process to end', () => !runs(pid));
});

// A process that nobody has waited for yet does not run either.
function runs(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

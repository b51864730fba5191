import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { runProcess } from '../support/run-cli.js';

let local: LocalServer;
/** With the process driver a service of this machine is one inside the sandbox. */
let service: http.Server;
let port: number;
beforeAll(async () => {
  local = await startLocalServer();
  service = http.createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    res.writeHead(req.url === '/missing' ? 404 : 200, { 'X-Answer': 'inside' });
    res.end(`${req.method} ${req.url} ${Buffer.concat(chunks)}`);
  });
  service.on('upgrade', (req, socket) => {
    if (req.url === '/refuse') return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  port = (service.address() as AddressInfo).port;
});
afterAll(async () => {
  service?.closeAllConnections();
  service?.close();
  await local?.[Symbol.asyncDispose]();
});

const svc = (args: string[], options: Parameters<typeof runProcess>[1] = {}) =>
  runProcess(args, { env: local.env, ...options });

/** Asks to switch protocols: the socket, or the answer that refused. */
function upgrade(url: string): Promise<Socket | http.IncomingMessage> {
  const headers = { Connection: 'Upgrade', Upgrade: 'echo' };
  const request = http.request(url, { headers, agent: false });
  return new Promise((resolve, reject) => {
    request.on('upgrade', (_, socket) => resolve(socket));
    request.on('response', resolve);
    request.on('error', reject);
    request.end();
  });
}

it('brings a private port of a sandbox to this machine: requests and upgraded connections', async () => {
  const id = (await svc(['sandbox', 'create', '-q', '--private-ports'])).stdout.trim();
  let url = '';
  const run = await svc(['sandbox', 'port', id, String(port), '--local', '0'], {
    started: async (child, output) => {
      url = await eventually('the address', () => /http:\/\/127\.0\.0\.1:\d+/.exec(output())?.[0]);
      const answer = await fetch(`${url}/a%2Fb?c=d`, { method: 'POST', body: 'some text' });
      expect(await answer.text()).toBe('POST /a%2Fb?c=d some text');
      expect([answer.status, answer.headers.get('x-answer')]).toEqual([200, 'inside']);
      expect((await fetch(`${url}/missing`)).status).toBe(404);
      const both = await Promise.all([1, 2, 3].map(async (n) => (await fetch(`${url}/${n}`)).text()));
      expect(both).toEqual(['GET /1 ', 'GET /2 ', 'GET /3 ']);
      const socket = (await upgrade(`${url}/live`)) as Socket;
      socket.write('ping');
      expect(String((await once(socket, 'data'))[0])).toBe('ping');
      const refused = (await upgrade(`${url}/refuse`)) as http.IncomingMessage;
      expect(refused.statusCode).toBe(403);
      refused.resume();
      const taken = await svc(['sandbox', 'port', id, String(port), '--local', new URL(url).port]);
      expect(taken).toMatchObject({ code: 1, stderr: expect.stringMatching(/it is taken/) });
      // The open connection does not keep it from ending.
      child.kill('SIGINT');
      await once(socket, 'close');
    },
  });
  expect(run.code).toBe(0);
  expect(run.stderr).toContain(`Forwards to port ${port} of ${id}`);
  await expect(fetch(url)).rejects.toThrow();
  expect((await svc(['sandbox', 'kill', id])).code).toBe(0);
});

it('prints a link that opens a private port until it expires', async () => {
  const id = (await svc(['sandbox', 'create', '-q', '--private-ports'])).stdout.trim();
  const run = await svc(['port', id, String(port), '--expires', '1h', '--path', '/docs?x=1']);
  expect(run).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^http:.*\/docs\?x=1&svc_preview=v1\./),
  });
  const link = new URL(run.stdout.trim());
  const ask = (path: string) =>
    new Promise<string>((resolve, reject) => {
      // Names under localhost are known to browsers and curl alone.
      const address = { host: '127.0.0.1', port: link.port, path, headers: { Host: link.host } };
      http
        .get(address, async (answer) => resolve(`${answer.statusCode} ${await answer.toArray()}`))
        .on('error', reject);
    });
  expect(await ask(link.pathname + link.search)).toBe('200 GET /docs?x=1 ');
  expect(await ask(link.pathname)).toMatch(/^403 /);
  expect((await svc(['sandbox', 'port', id, String(port), '--expires', '0'])).stderr).toMatch(/above 0/);
  expect((await svc(['sandbox', 'port', id, String(port), '--expires', '1h', '--check'])).code).toBe(2);
  expect((await svc(['sandbox', 'port', id, String(port), '--path', '/x'])).code).toBe(2);
  expect((await svc(['sandbox', 'kill', id])).code).toBe(0);
  const open = (await svc(['sandbox', 'create', '-q'])).stdout.trim();
  expect((await svc(['sandbox', 'port', open, String(port), '--expires', '1h'])).stderr).toMatch(
    /are public/,
  );
  expect((await svc(['sandbox', 'kill', open])).code).toBe(0);
});

it('answers 502 where nothing listens in the sandbox', async () => {
  const id = (await svc(['sandbox', 'create', '-q'])).stdout.trim();
  await svc(['sandbox', 'port', id, '1', '--local', '0', '--json'], {
    started: async (child, output) => {
      const url = await eventually('the address', () => /"url":"([^"]+)"/.exec(output())?.[1]);
      expect((await fetch(url)).status).toBe(502);
      child.kill('SIGINT');
    },
  });
  expect((await svc(['sandbox', 'port', id, '1', '--local', '0', '--check'])).code).toBe(2);
});

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { eventually } from '@svc/runtime/testing';
import { casesOf, type Draft } from '../../case.js';
import type { Target, TestSandbox } from '../../targets/target.js';
import { assertStatus, call } from '../../wire/call.js';
import { observe } from '../../wire/recorder.js';
import { stream } from '../../wire/rpc.js';
import { type Answer, open, type SendOptions, send } from '../../wire/send.js';
import { run, startMessage, startProcess } from '../daemon/run.js';

const UNKNOWN = 'i00000000000000000000';

async function knock(
  target: Target,
  headers: Record<string, string | undefined>,
  path = '/',
  options: SendOptions = {},
): Promise<Answer> {
  const answer = await send(`${target.sandboxUrl}${path}`, { ...options, headers });
  observe({ operation: 'gateway', outcome: String(answer.status) });
  return answer;
}

const to = (sandboxId: string, port: number | string) => ({
  'Svc-Sandbox-Id': sandboxId,
  'Svc-Sandbox-Port': String(port),
});

function assertText(answer: Answer, status: number, text: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type'] ?? '', /^text\/plain/);
  assert.equal(answer.text, `${text}\n`);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['access-control-allow-origin'], '*');
}

function assertRecord(answer: Answer, status: number): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  const record = answer.json() as Record<string, unknown>;
  assert.equal(record.code, status);
  assert.ok((record.message as string).length > 0);
  return record;
}

/** A program that answers HTTP with what it was asked. Node runs in every sandbox: the daemon does. */
const ECHO = `
const http = require('http');
const server = http.createServer((req, res) => {
  if (req.url === '/slow') { res.write('first\\n'); setTimeout(() => res.end('last\\n'), 1500); return; }
  let body = ''; req.on('data', (d) => { body += d; });
  req.on('end', () => { res.setHeader('X-Echo', 'yes'); res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body })); });
});
server.on('upgrade', (req, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: Upgrade\\r\\n\\r\\n');
  socket.on('data', (d) => socket.write(d));
  socket.on('end', () => socket.end());
  socket.on('error', () => {});
});
server.listen(0, process.argv[1] || '0.0.0.0', () => console.log('port ' + server.address().port));
`;

interface Echo {
  port: number;
  stop(): void;
}

/** Serves {@link ECHO} in a sandbox. */
async function serveEcho(sandbox: TestSandbox, address = '0.0.0.0'): Promise<Echo> {
  const finder = await run(sandbox, 'command -v node || true');
  const node = finder.stdout.trim() === '' ? '/usr/bin/node' : finder.stdout.trim();
  const running = await startProcess(sandbox, { cmd: node, args: ['-e', ECHO, address] });
  const port = Number(/port (\d+)\n/.exec(await running.until('\n'))?.[1]);
  assert.ok(port > 0);
  return { port, stop: () => running.leave() };
}

const closed = ['/init', '/freeze', '/unfreeze', '/fsfreeze', '/fsthaw', '/collapse', '/upgrade'];
const spellings = ['//init', '/./init', '/x/../init', '/init/', '/%69nit', '/init?x=1'];

/** The way into sandboxes. */
export const gatewayCases = casesOf('gateway', [
  {
    name: 'one routing header without the other gives 400 missing header',
    operation: 'gateway',
    expects: '400 missing header',
    run: async (target) => {
      const sandbox = await target.sandbox();
      assertText(await knock(target, { 'Svc-Sandbox-Id': sandbox.sandboxId }), 400, 'missing header');
      assertText(await knock(target, { 'Svc-Sandbox-Port': '49983' }), 400, 'missing header');
      assertText(await knock(target, {}), 400, 'missing header');
    },
  },
  {
    name: 'a host that is none gives 400 Invalid host',
    operation: 'gateway',
    expects: '400 Invalid host',
    run: async (target) => {
      for (const host of ['nodots', 'nodash.example.com', '-.example.com.'])
        assert.equal((await knock(target, { Host: host })).status, 400, host);
      assertText(await knock(target, { Host: 'nodots' }), 400, 'Invalid host');
    },
  },
  {
    name: 'a bad sandbox id gives 400',
    operation: 'gateway',
    expects: '400 Invalid sandbox ID',
    run: async (target) => {
      for (const id of ['UPPER', 'a-b', 'a.b', '../x'])
        assertText(await knock(target, to(id, 49_983)), 400, 'Invalid sandbox ID');
    },
  },
  {
    name: 'a bad port gives 400',
    operation: 'gateway',
    expects: '400 Invalid sandbox port',
    run: async (target) => {
      for (const port of ['0', '65536', '-1', 'abc', '80.0', '0x50', '99999999999'])
        assertText(await knock(target, to(UNKNOWN, port)), 400, 'Invalid sandbox port');
    },
  },
  {
    name: 'an unknown sandbox gives 502 with its id',
    operation: 'gateway',
    expects: '502 not found',
    run: async (target) => {
      const record = assertRecord(await knock(target, to(UNKNOWN, 49_983), '/health'), 502);
      assert.equal(record.sandboxId, UNKNOWN);
      assert.equal(record.message, 'The sandbox was not found');
    },
  },
  {
    name: 'a port where nothing listens gives 502 with the port',
    operation: 'gateway',
    expects: '502 port closed',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const record = assertRecord(await knock(target, to(sandbox.sandboxId, 9)), 502);
      assert.equal(record.sandboxId, sandbox.sandboxId);
      assert.equal(record.port, 9);
    },
  },
  {
    name: 'a browser gets a page instead of a record',
    operation: 'gateway',
    expects: '502 page',
    run: async (target) => {
      const answer = await knock(target, {
        ...to(UNKNOWN, 8_080),
        'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36',
        'Sec-Fetch-Mode': 'navigate',
        Accept: 'text/html',
      });
      assert.equal(answer.status, 502);
      assert.match(answer.headers['content-type'] ?? '', /^text\/html/);
    },
  },
  {
    name: 'preflights of what is not there are answered by the gateway',
    operation: 'gateway',
    expects: 'preflight',
    run: async (target) => {
      for (const headers of [to(UNKNOWN, 8_080), { 'Svc-Sandbox-Id': UNKNOWN }, to('BAD', 1)]) {
        const answer = await knock(
          target,
          {
            ...headers,
            Origin: 'https://a.example.com',
            'Access-Control-Request-Method': 'PUT',
            'Access-Control-Request-Headers': 'x-one, x-two',
          },
          '/',
          { method: 'OPTIONS' },
        );
        assert.equal(answer.status, 204, answer.text);
        assert.equal(answer.headers['access-control-allow-origin'], '*');
        assert.equal(answer.headers['access-control-allow-methods'], '*');
        assert.equal(answer.headers['access-control-allow-headers'], 'x-one, x-two');
        assert.equal(answer.headers['access-control-max-age'], '86400');
      }
      const plain = await knock(target, to(UNKNOWN, 8_080), '/', { method: 'OPTIONS' });
      assert.equal(plain.status, 502, 'an OPTIONS that is no preflight is a request');
    },
  },
  ...closed.map(
    (path): Draft => ({
      name: `POST ${path} of the daemon is closed`,
      operation: 'gateway',
      expects: '404 closed',
      run: async (target) => {
        const sandbox = await target.sandbox();
        for (const id of [sandbox.sandboxId, UNKNOWN]) {
          const answer = await knock(
            target,
            { ...to(id, 49_983), 'X-Access-Token': sandbox.accessToken },
            path,
            {
              method: 'POST',
              body: '{}',
            },
          );
          const record = assertRecord(answer, 404);
          assert.equal(record.path, path);
        }
      },
    }),
  ),
  {
    name: 'closed routes are closed in any spelling',
    operation: 'gateway',
    expects: '404 closed',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const path of spellings) {
        const answer = await knock(
          target,
          { ...to(sandbox.sandboxId, 49_983), 'X-Access-Token': sandbox.accessToken },
          path,
          {
            method: 'POST',
            body: '{"accessToken":"stolen"}',
          },
        );
        assert.equal(answer.status, 404, path);
      }
      assert.equal((await run(sandbox, 'echo still')).stdout, 'still\n', 'the token is the old one');
    },
  },
  {
    name: 'the log route of the daemon is no way around the token',
    operation: 'gateway',
    expects: '401',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const answer = await knock(target, to(sandbox.sandboxId, 49_983), '/logs?after=0&limit=10');
      assert.ok([401, 404].includes(answer.status), String(answer.status));
    },
  },
  {
    name: 'requests and answers go through as they are',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const echo = await serveEcho(sandbox);
      const answer = await knock(
        target,
        { ...to(sandbox.sandboxId, echo.port), 'X-Custom': 'value', 'Content-Type': 'text/odd' },
        '/a/../b?c=%20d',
        {
          method: 'PATCH',
          body: 'the body',
        },
      );
      const got = assertStatus<{
        method: string;
        url: string;
        body: string;
        headers: Record<string, string>;
      }>(answer, 200);
      assert.equal(got.method, 'PATCH');
      assert.equal(got.url, '/a/../b?c=%20d');
      assert.equal(got.body, 'the body');
      assert.equal(got.headers['x-custom'], 'value');
      assert.equal(got.headers['svc-sandbox-id'], sandbox.sandboxId, 'routing headers are passed on');
      assert.equal(got.headers['x-forwarded-for'], undefined, 'nothing is added');
      assert.equal(answer.headers['x-echo'], 'yes');
      echo.stop();
    },
  },
  {
    name: 'a loopback listener is reached too',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const echo = await serveEcho(sandbox, '127.0.0.1');
      assertStatus(await knock(target, to(sandbox.sandboxId, echo.port)), 200);
      echo.stop();
    },
  },
  {
    name: 'the host name of a port leads to it',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const echo = await serveEcho(sandbox);
      const host = `${echo.port}-${sandbox.sandboxId}.${target.domain ?? 'example.com'}`;
      const answer = await knock(target, { Host: host });
      const got = assertStatus<{ headers: Record<string, string> }>(answer, 200);
      assert.equal(got.headers.host, host);
      assertText(
        await knock(target, { Host: `abc-${sandbox.sandboxId}.${target.domain ?? 'example.com'}` }),
        400,
        'Invalid sandbox port',
      );
      const ignored = await knock(target, { Host: host, ...to(UNKNOWN, 1) });
      assert.equal(ignored.status, 200, 'headers do not count on the host name of a port');
      echo.stop();
    },
  },
  {
    name: 'an answer flows as it is written',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const echo = await serveEcho(sandbox);
      const answer = await open(`${target.sandboxUrl}/slow`, { headers: to(sandbox.sandboxId, echo.port) });
      const pieces: string[] = [];
      for await (const piece of answer.body) pieces.push(String(piece));
      assert.deepEqual(pieces, ['first\n', 'last\n']);
      echo.stop();
    },
  },
  {
    name: 'an upgrade goes through, both ways',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const echo = await serveEcho(sandbox);
      const { hostname, port } = new URL(target.sandboxUrl);
      if (new URL(target.sandboxUrl).protocol === 'https:') return;
      const socket = connect(Number(port || 80), hostname);
      let got = '';
      socket.on('data', (data) => {
        got += data.toString();
      });
      socket.on('error', () => {});
      socket.write(
        `GET /ws HTTP/1.1\r\nHost: ${hostname}:${port}\r\nSvc-Sandbox-Id: ${sandbox.sandboxId}\r\nSvc-Sandbox-Port: ${echo.port}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`,
      );
      await eventually('the switch', () =>
        /^HTTP\/1\.1 101/.test(got) && got.includes('\r\n\r\n') ? true : undefined,
      );
      socket.write('ping');
      await eventually('the echo', () => (got.endsWith('ping') ? true : undefined));
      socket.destroy();
      echo.stop();
    },
  },
  {
    name: 'a private port needs the traffic token, the daemon does not',
    operation: 'gateway',
    expects: '403 private',
    run: async (target) => {
      const answer = await call(target, 'createSandboxV2', {
        body: { templateID: target.template, timeout: 120, network: { allowPublicTraffic: false } },
      });
      const made = assertStatus<{
        sandboxID: string;
        envdAccessToken: string;
        trafficAccessToken: string;
        templateID: string;
      }>(answer, 201);
      const sandbox = {
        sandboxUrl: target.sandboxUrl,
        sandboxId: made.sandboxID,
        accessToken: made.envdAccessToken,
        templateId: made.templateID,
      };
      const echo = await serveEcho(sandbox);
      for (const token of [undefined, 'wrong', made.envdAccessToken]) {
        const refused = await knock(target, {
          ...to(made.sandboxID, echo.port),
          'Svc-Traffic-Access-Token': token,
        });
        assert.match(assertRecord(refused, 403).message as string, /Svc-Traffic-Access-Token|private/i);
      }
      const let_in = await knock(target, {
        ...to(made.sandboxID, echo.port),
        'svc-traffic-access-token': made.trafficAccessToken,
      });
      const got = assertStatus<{ headers: Record<string, string> }>(let_in, 200);
      assert.equal(got.headers['svc-traffic-access-token'], undefined, 'the token is not passed on');
      echo.stop();
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: made.sandboxID } }), 204);
    },
  },
  {
    name: 'maskRequestHost changes the host that the service sees',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({
        network: { maskRequestHost: `masked.example.com:\${PORT}` },
      });
      const echo = await serveEcho(sandbox);
      const host = `${echo.port}-${sandbox.sandboxId}.${target.domain ?? 'example.com'}`;
      const got = assertStatus<{ headers: Record<string, string> }>(await knock(target, { Host: host }), 200);
      assert.equal(got.headers.host, `masked.example.com:${echo.port}`);
      assert.equal(got.headers['x-forwarded-host'], host);
      echo.stop();
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
    },
  },
  {
    name: 'a pause ends open streams with unavailable at a frame boundary',
    operation: 'gateway',
    expects: 'unavailable',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      const rpc = await stream(
        sandbox,
        'process.Process/Start',
        startMessage({ cmd: '/bin/sh', args: ['-c', 'exec sleep 100'] }),
      );
      assert.ok((await rpc.messages.next()).done !== true);
      assertStatus(await call(target, 'pauseSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      for await (const _ of rpc.messages);
      assert.equal(rpc.end()?.error?.code, 'unavailable');
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
    },
  },
  {
    name: 'a request wakes a sandbox that may wake, with the right token only',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({
        timeout: 60,
        autoPause: true,
        autoResume: { enabled: true },
      });
      const id = sandbox.sandboxId;
      const state = async () =>
        assertStatus<{ state: string; startedAt: string; endAt: string }>(
          await call(target, 'getSandbox', { path: { sandboxID: id } }),
          200,
        );
      assertStatus(await call(target, 'pauseSandbox', { path: { sandboxID: id } }), 204);
      const preflight = await knock(
        target,
        { ...to(id, 49_983), Origin: 'https://a.example.com', 'Access-Control-Request-Method': 'POST' },
        '/',
        { method: 'OPTIONS' },
      );
      assert.equal(preflight.status, 204);
      assert.equal((await state()).state, 'paused', 'a preflight wakes nobody');
      assertRecord(await knock(target, { ...to(id, 49_983), 'X-Access-Token': 'wrong' }, '/envs'), 403);
      assert.equal((await state()).state, 'paused');
      const envs = await knock(target, { ...to(id, 49_983), 'X-Access-Token': sandbox.accessToken }, '/envs');
      assert.equal(envs.status, 200, 'the request is answered by the sandbox that woke');
      const woken = await state();
      assert.equal(woken.state, 'running');
      assert.equal((Date.parse(woken.endAt) - Date.parse(woken.startedAt)) / 1000, 300, 'at least 300 s');
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: id } }), 204);
    },
  },
  {
    name: 'waking beyond the limit of the team gives 429',
    operation: 'gateway',
    expects: '429',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxConcurrentSandboxes: 1 } });
      const sleeper = await target.newSandbox({ autoPause: true, autoResume: { enabled: true } }, team);
      assertStatus(await call(team, 'pauseSandbox', { path: { sandboxID: sleeper.sandboxId } }), 204);
      const other = await target.newSandbox({}, team);
      assertRecord(
        await knock(
          target,
          { ...to(sleeper.sandboxId, 49_983), 'X-Access-Token': sleeper.accessToken },
          '/envs',
        ),
        429,
      );
      for (const one of [sleeper, other])
        await call(team, 'killSandbox', { path: { sandboxID: one.sandboxId } });
    },
  },
  {
    name: 'a blocked team does not wake its sandboxes',
    operation: 'gateway',
    expects: '403 blocked',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team();
      const sleeper = await target.newSandbox({ autoPause: true, autoResume: { enabled: true } }, team);
      assertStatus(await call(team, 'pauseSandbox', { path: { sandboxID: sleeper.sandboxId } }), 204);
      await team.block('unpaid');
      assertRecord(
        await knock(
          target,
          { ...to(sleeper.sandboxId, 49_983), 'X-Access-Token': sleeper.accessToken },
          '/envs',
        ),
        403,
      );
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: sleeper.sandboxId } }), 204);
    },
  },
]);

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { eventually } from '@svc/support/eventually';
import { check, type Draft } from '../../case.js';
import { assertText, knock, to, UNKNOWN } from '../../requests/knock.js';
import { assertStatus } from '../../wire/call.js';
import { open } from '../../wire/send.js';
import { serveEcho } from './echo.js';

/** Traffic that passes as it is: requests, answers, streams, upgrades. */
export const trafficCases: Draft[] = [
  check('requests and answers go through as they are', ['gateway', 'success'], async (target) => {
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
  }),
  check('a loopback listener is reached too', ['gateway', 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const echo = await serveEcho(sandbox, '127.0.0.1');
    assertStatus(await knock(target, to(sandbox.sandboxId, echo.port)), 200);
    echo.stop();
  }),
  check('the host name of a port leads to it', ['gateway', 'success'], async (target) => {
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
  }),
  check('an answer flows as it is written', ['gateway', 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const echo = await serveEcho(sandbox);
    const headers = to(sandbox.sandboxId, echo.port);
    const answer = await open(`${target.sandboxUrl}/held`, { headers });
    const pieces: string[] = [];
    for await (const piece of answer.body) {
      pieces.push(String(piece));
      // The rest is not written before the first was read.
      if (pieces.length === 1) assert.equal((await knock(target, { ...headers }, '/go-on')).status, 200);
    }
    assert.deepEqual(pieces, ['first\n', 'last\n']);
    echo.stop();
  }),
  check('an upgrade goes through, both ways', ['gateway', 'success'], async (target) => {
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
    await eventually('the switch', () => /^HTTP\/1\.1 101/.test(got) && got.includes('\r\n\r\n'));
    socket.write('ping');
    await eventually('the echo', () => got.endsWith('ping'));
    socket.destroy();
    echo.stop();
  }),
];

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { daemonProgram } from '@svc/envd';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { frame, splitFrames } from '#support/connect-frames';
import { eventually } from '#support/eventually';
import { ask, Fixture, to } from './fixture.js';

const built = existsSync(daemonProgram.entry);
if (!built) console.warn('skipped: the daemon is not built (npm run build -w packages/envd)');

describe.skipIf(!built)('the real daemon behind the gateway', () => {
  let home = '';
  let daemon: ChildProcess;
  let port = 0;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'gateway-daemon-'));
    const flags = ['--host', '127.0.0.1', '--port', '0', '--ready-fd', '3', '--single-user', '--home', home];
    daemon = spawn(daemonProgram.entry, flags, {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: { PATH: process.env.PATH ?? '', HOME: home },
    });
    const [line] = await once(daemon.stdio[3] as NodeJS.ReadableStream, 'data');
    port = JSON.parse(String(line)).port;
  });

  afterAll(async () => {
    if (daemon?.exitCode === null) {
      const ended = once(daemon, 'exit');
      daemon.kill('SIGKILL');
      await ended;
    }
    rmSync(home, { recursive: true, force: true });
  });

  const open = async () => {
    const fixture = await Fixture.open();
    fixture.add('abc').ports.set(49_983, port);
    return fixture;
  };

  const start = (fixture: Fixture, script: string) => {
    const headers = {
      ...to('abc', 49_983),
      'Content-Type': 'application/connect+json',
      'Connect-Protocol-Version': '1',
      Authorization: `Basic ${Buffer.from('user:').toString('base64')}`,
    };
    const outgoing = request({ port: fixture.port, method: 'POST', path: '/process.Process/Start', headers });
    outgoing.on('error', () => undefined);
    outgoing.end(frame(JSON.stringify({ process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false })));
    const chunks: Buffer[] = [];
    const state = {
      ended: false,
      complete: false,
      frames: () => splitFrames(Buffer.concat(chunks)).map(({ flags, json }) => ({ flags, payload: json() })),
      leave: () => outgoing.destroy(),
    };
    outgoing.once('response', (res: IncomingMessage) => {
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('error', () => undefined);
      res.once('close', () => {
        state.ended = true;
        state.complete = res.complete;
      });
    });
    return state;
  };

  it('is healthy, and its internal routes are closed', async () => {
    await using fixture = await open();
    expect((await ask(fixture.port, { path: '/health', headers: to('abc', 49_983) })).status).toBe(204);
    expect((await ask(fixture.port, { path: '/logs', headers: to('abc', 49_983) })).status).toBe(404);
    expect(
      (await ask(fixture.port, { method: 'POST', path: '//init', headers: to('abc', 49_983), body: '{}' }))
        .status,
    ).toBe(404);
  });

  it('runs a command and streams its output', async () => {
    await using fixture = await open();
    const stream = start(fixture, 'echo hello');
    await eventually('the end', () => stream.ended);
    const text = JSON.stringify(stream.frames());
    expect(stream.complete).toBe(true);
    expect(text).toContain(Buffer.from('hello\n').toString('base64'));
    expect(stream.frames().at(-1)).toEqual({ flags: 2, payload: {} });
  });

  it('answers preflights through its own CORS layer', async () => {
    await using fixture = await open();
    const headers = {
      ...to('abc', 49_983),
      Origin: 'http://page.test',
      'Access-Control-Request-Method': 'POST',
    };
    const answer = await ask(fixture.port, { method: 'OPTIONS', path: '/process.Process/List', headers });
    expect(answer.headers['access-control-max-age']).toBe('7200');
  });

  it('has its open streams ended with unavailable when the sandbox is closed', async () => {
    await using fixture = await open();
    const stream = start(fixture, 'echo begun; exec sleep 1000');
    await eventually('the output', () => stream.frames().length >= 2);
    await fixture.gateway.close('abc');
    await eventually('the end', () => stream.ended);
    expect(stream.complete).toBe(true);
    expect(stream.frames().at(-1)).toMatchObject({ flags: 2, payload: { error: { code: 'unavailable' } } });
  });
});

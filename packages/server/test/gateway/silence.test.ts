import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { frame } from '#support/connect-frames';
import { eventually } from '#support/eventually';
import { ask, Fixture, reply, to } from './fixture.js';

const DAEMON_PORT = 49_983;
/** A daemon that is healthy says so at once; how long a machine takes over it is not what is tested. */
const config = { silenceMs: 20, healthMs: 10_000 };
/** For daemons that say nothing: their time has to pass. */
const hasty = { silenceMs: 20, healthMs: 500 };

/** A daemon that never answers anything but, at will, its health route. */
function silentDaemon(health: { answers: boolean; asked: number }): RequestListener {
  return (req, res) => {
    if (req.url !== '/health') return;
    health.asked++;
    if (health.answers) reply(res, 204, '');
  };
}

describe('a request to a daemon that gives no answer', () => {
  it('ends with 502 when the daemon does not answer its health route either', async () => {
    await using fixture = await Fixture.open({ config: hasty });
    const health = { answers: false, asked: 0 };
    await fixture.serve(fixture.add('abc'), DAEMON_PORT, silentDaemon(health));
    const answer = await ask(fixture.port, { path: '/files?path=a', headers: to('abc', DAEMON_PORT) });
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body)).toEqual({
      sandboxId: 'abc',
      message: 'The sandbox does not answer',
      port: DAEMON_PORT,
      code: 502,
    });
    expect(health.asked).toBe(2);
    expect(fixture.gateway.stats.refusals.daemon_silent).toBe(1);
  });

  it('ends with unavailable when it is a Connect stream', async () => {
    await using fixture = await Fixture.open({ config: hasty });
    await fixture.serve(fixture.add('abc'), DAEMON_PORT, silentDaemon({ answers: false, asked: 0 }));
    const answer = await ask(fixture.port, {
      method: 'POST',
      path: '/process.Process/Start',
      headers: { ...to('abc', DAEMON_PORT), 'Content-Type': 'application/connect+json' },
      body: frame('{}'),
    });
    expect(answer).toMatchObject({ status: 200, complete: true });
    expect(JSON.parse(answer.body.slice(5))).toEqual({
      error: { code: 'unavailable', message: 'The sandbox does not answer' },
    });
  });

  it('ends with 502 when no connection can be made any more', async () => {
    await using fixture = await Fixture.open({ config });
    const sandbox = fixture.add('abc');
    await fixture.serve(sandbox, DAEMON_PORT, () => sandbox.ports.delete(DAEMON_PORT));
    const answer = await ask(fixture.port, { headers: to('abc', DAEMON_PORT) });
    expect(answer.status).toBe(502);
  });

  it('continues as long as the daemon is healthy', async () => {
    await using fixture = await Fixture.open({ config });
    const health = { answers: true, asked: 0 };
    const waiting: (() => void)[] = [];
    await fixture.serve(fixture.add('abc'), DAEMON_PORT, (req, res) => {
      if (req.url === '/slow') waiting.push(() => reply(res, 200, 'at last'));
      else silentDaemon(health)(req, res);
    });
    const answer = ask(fixture.port, { path: '/slow', headers: to('abc', DAEMON_PORT) });
    await eventually('several questions', () => health.asked >= 5);
    waiting[0]?.();
    expect(await answer).toMatchObject({ status: 200, body: 'at last' });
    const asked = health.asked;
    expect((await ask(fixture.port, { path: '/health', headers: to('abc', DAEMON_PORT) })).status).toBe(204);
    // A question of the gateway's own may still have been on its way.
    expect(health.asked).toBeGreaterThan(asked);
  });

  it('is waited for while the sandbox is in transition', async () => {
    await using fixture = await Fixture.open({ config });
    const health = { answers: true, asked: 0 };
    const sandbox = fixture.add('abc');
    let asked = 0;
    const waiting: (() => void)[] = [];
    await fixture.serve(sandbox, DAEMON_PORT, (req, res) => {
      if (req.url === '/slow') waiting.push(() => reply(res, 200, 'thawed'));
      else silentDaemon(health)(req, res);
    });
    const answer = ask(fixture.port, { path: '/slow', headers: to('abc', DAEMON_PORT) });
    await eventually('the request', () => waiting.length === 1);
    health.answers = false;
    Object.defineProperty(sandbox.route, 'state', {
      get: () => {
        asked++;
        return 'transition';
      },
    });
    await eventually('several looks', () => asked >= 10);
    waiting[0]?.();
    expect(await answer).toMatchObject({ status: 200, body: 'thawed' });
  });

  it('is left alone on other ports', async () => {
    await using fixture = await Fixture.open({ config });
    const sandbox = fixture.add('abc');
    const health = { answers: true, asked: 0 };
    const waiting: (() => void)[] = [];
    await fixture.serve(sandbox, 80, (_, res) => void waiting.push(() => reply(res, 200, 'long poll')));
    await fixture.serve(sandbox, DAEMON_PORT, (req, res) => {
      if (req.url === '/slow') waiting.push(() => reply(res, 200, ''));
      else silentDaemon(health)(req, res);
    });
    const polled = ask(fixture.port, { headers: to('abc', 80) });
    const slow = ask(fixture.port, { path: '/slow', headers: to('abc', DAEMON_PORT) });
    await eventually('both requests', () => waiting.length === 2);
    const dialed = sandbox.dialed.length;
    await eventually('questions to the daemon', () => health.asked >= 3);
    // Every new connection was one of the daemon's probes.
    expect(sandbox.dialed.length - dialed).toBeLessThanOrEqual(health.asked + 1);
    for (const end of waiting) end();
    expect((await polled).body).toBe('long poll');
    expect((await slow).status).toBe(200);
  });
});

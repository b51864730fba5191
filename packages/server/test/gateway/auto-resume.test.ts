import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { ResumeOutcome } from '../../src/gateway/index.js';
import { ask, Fixture, reply, to } from './fixture.js';

async function open(outcome?: () => Promise<ResumeOutcome>) {
  const calls: object[] = [];
  const fixture: Fixture = await Fixture.open({
    resume: async (sandboxId, credentials) => {
      calls.push({ sandboxId, ...credentials });
      if (outcome) return await outcome();
      const route = fixture.sandboxes.get(sandboxId)?.route;
      if (!route) return { kind: 'deleted' };
      route.state = 'running';
      return { kind: 'running', route };
    },
  });
  const sandbox = fixture.add('abc', {
    state: 'paused',
    autoResume: { enabled: true },
    daemon: { clientToken: 'daemon-secret', ownToken: 'own' },
  });
  for (const port of [80, 49_983])
    await fixture.serve(sandbox, port, (_req, res) => reply(res, 200, `woken ${port}`));
  return { fixture, sandbox, calls };
}

describe('a paused sandbox that may be woken', () => {
  it('is woken by a request to a port, which then goes through with its body', async () => {
    const { fixture, calls } = await open();
    await using _ = fixture;
    const answer = await ask(fixture.port, {
      method: 'POST',
      headers: to('abc', 80),
      body: 'x'.repeat(100_000),
    });
    expect(answer).toMatchObject({ status: 200, body: 'woken 80' });
    expect(calls).toHaveLength(1);
    expect(fixture.gateway.stats.autoResumes).toBe(1);
  });

  it('is woken once by many requests', async () => {
    const { fixture, calls } = await open();
    await using _ = fixture;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ask(fixture.port, { headers: to('abc', 80) })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(calls).toHaveLength(1);
  });

  it('asks for the access token on the daemon port first', async () => {
    const { fixture, calls } = await open();
    await using _ = fixture;
    for (const token of [undefined, 'wrong']) {
      const headers = { ...to('abc', 49_983), ...(token ? { 'X-Access-Token': token } : {}) };
      const answer = await ask(fixture.port, { headers });
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toMatchObject({ sandboxId: 'abc', code: 403 });
    }
    expect(calls).toHaveLength(0);
    const answer = await ask(fixture.port, {
      headers: { ...to('abc', 49_983), 'X-Access-Token': 'daemon-secret' },
    });
    expect(answer.body).toBe('woken 49983');
    expect(JSON.stringify(fixture.logged)).not.toContain('daemon-secret');
  });

  it('asks for the traffic token on a private port first', async () => {
    const { fixture, sandbox, calls } = await open();
    await using _ = fixture;
    sandbox.route.allowPublicTraffic = false;
    expect((await ask(fixture.port, { headers: to('abc', 80) })).status).toBe(403);
    expect(calls).toHaveLength(0);
    const headers = { ...to('abc', 80), 'Svc-Traffic-Access-Token': 'traffic-secret' };
    expect((await ask(fixture.port, { headers })).status).toBe(200);
  });

  it.each([
    [{ kind: 'deleted' }, 502, 'The sandbox was not found'],
    [{ kind: 'refused', message: 'team is blocked' }, 403, 'team is blocked'],
    [{ kind: 'limited', message: 'too many run' }, 429, 'too many run'],
  ] as const)('tells why it was not woken: %j', async (outcome, status, message) => {
    const { fixture } = await open(async () => outcome);
    await using _ = fixture;
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toEqual({ sandboxId: 'abc', message, code: status });
  });

  it('answers 502 when waking fails unexpectedly, and tries again the next time', async () => {
    let fails = true;
    const { fixture, sandbox } = await open(async () => {
      if (fails) throw new Error('boom /secret/path');
      sandbox.route.state = 'running';
      return { kind: 'running', route: sandbox.route };
    });
    await using _ = fixture;
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer.status).toBe(502);
    expect(answer.body).not.toContain('secret');
    fails = false;
    expect((await ask(fixture.port, { headers: to('abc', 80) })).status).toBe(200);
  });
});

describe('a sandbox in transition', () => {
  it('is waited for', async () => {
    const { fixture, sandbox } = await open();
    await using _ = fixture;
    sandbox.route.state = 'transition';
    const asked = ask(fixture.port, { headers: to('abc', 80) });
    await eventually('the request', () => fixture.gateway.stats.requests === 1);
    sandbox.route.state = 'running';
    expect((await asked).body).toBe('woken 80');
  });

  it('that ends paused is woken', async () => {
    const { fixture, sandbox, calls } = await open();
    await using _ = fixture;
    sandbox.route.state = 'transition';
    const asked = ask(fixture.port, { headers: to('abc', 80) });
    await eventually('the request', () => fixture.gateway.stats.requests === 1);
    sandbox.route.state = 'paused';
    expect((await asked).status).toBe(200);
    expect(calls).toHaveLength(1);
  });

  it('that ends killed is not found', async () => {
    const { fixture, sandbox } = await open();
    await using _ = fixture;
    sandbox.route.state = 'transition';
    const asked = ask(fixture.port, { headers: to('abc', 80) });
    await eventually('the request', () => fixture.gateway.stats.requests === 1);
    fixture.sandboxes.delete('abc');
    expect((await asked).status).toBe(502);
  });
});

import http from 'node:http';
import { text } from 'node:stream/consumers';
import { platformOperations } from '@svc/platform';
import { operatorOperations } from '@svc/platform/operator';
import { type OperationRules, operatorRules, platformRules } from '@svc/platform/rules';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
let base: string;
beforeAll(async () => {
  test = await startTestServer();
  base = `${test.server.operatorUrl}/dashboard`;
});
afterAll(() => test?.[Symbol.asyncDispose]());

type Session = Record<'Cookie' | 'Svc-Dashboard', string>;

/** Asks as a page does. `fetch` would add headers of its own. */
async function ask(
  method: string,
  target: string,
  options: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<ApiAnswer> {
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const headers = {
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
    ...options.headers,
  };
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.request(`${base}${target}`, { method, headers }, resolve).on('error', reject).end(body);
  });
  const shown = await text(response);
  const plain = Object.entries(response.headers).map(
    ([name, value]) => [name, String(value)] as [string, string],
  );
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(plain),
    body: /json/.test(response.headers['content-type'] ?? '') && shown !== '' ? JSON.parse(shown) : shown,
  };
}

async function signIn(credential: object = { token: test.server.operatorToken }): Promise<Session> {
  const answer = await ask('POST', '/session', { body: credential });
  expect(answer.status).toBe(201);
  const cookie = answer.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^svc_dashboard=[\w-]{43}; Path=\/dashboard; HttpOnly; SameSite=Strict$/);
  return { Cookie: cookie.split(';', 1)[0]!, 'Svc-Dashboard': answer.body.proof };
}

async function newCode(): Promise<string> {
  const headers = { Authorization: `Bearer ${test.server.operatorToken}` };
  const url = `${test.server.operatorUrl}/dashboard-codes`;
  const answer = await fetch(url, { method: 'POST', headers });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { code: string }).code;
}

describe('signing in', () => {
  it('needs the operator token, or a code that is used once and in time', async () => {
    for (const body of [{ token: 'no' }, { code: 'no' }, { token: '' }])
      expect((await ask('POST', '/session', { body })).status).toBe(401);
    for (const body of [{}, [], 1, { token: 1 }, { token: test.server.operatorToken, code: 'x' }])
      expect((await ask('POST', '/session', { body })).status).toBe(400);
    expect((await ask('POST', '/session', { body: { token: 'x'.repeat(5_000) } })).status).toBe(413);
    expect((await ask('POST', '/session', { body: { token: test.server.apiKey } })).status).toBe(401);
    const code = await newCode();
    await signIn({ code });
    expect((await ask('POST', '/session', { body: { code } })).status).toBe(401);
    const late = await newCode();
    test.advance(60_001);
    expect((await ask('POST', '/session', { body: { code: late } })).status).toBe(401);
  });

  it('lasts eight hours, until somebody signs out, or until a restart', async () => {
    const session = await signIn();
    expect((await ask('GET', '/session', { headers: session })).status).toBe(200);
    expect((await ask('DELETE', '/session', { headers: session })).status).toBe(200);
    expect((await ask('GET', '/session', { headers: session })).status).toBe(401);
    const other = await signIn();
    test.advance(8 * 3_600_000);
    expect((await ask('GET', '/session', { headers: other })).status).toBe(401);
  });

  it('opens nothing with half a session, from another page, or with the token instead of it', async () => {
    const session = await signIn();
    const second = await signIn();
    const places = ['/session', '/operator/teams', '/api/default/v2/sandboxes', '/gateway/default/health'];
    const bearer = { Authorization: `Bearer ${test.server.operatorToken}` };
    const wrong: [Record<string, string>, number][] = [
      [{}, 401],
      [bearer, 401],
      [{ 'X-API-Key': test.server.apiKey }, 401],
      [{ Cookie: session.Cookie }, 401],
      [{ 'Svc-Dashboard': session['Svc-Dashboard'] }, 401],
      [{ Cookie: session.Cookie, 'Svc-Dashboard': second['Svc-Dashboard'] }, 401],
      [{ ...session, Origin: 'http://evil.example' }, 403],
      [{ ...session, Origin: 'null' }, 403],
      [{ ...session, 'Sec-Fetch-Site': 'same-site' }, 403],
      [{ ...session, 'Sec-Fetch-Site': 'none' }, 403],
    ];
    for (const place of places)
      for (const [headers, status] of wrong)
        expect([place, headers, (await ask('GET', place, { headers })).status]).toEqual([
          place,
          headers,
          status,
        ]);
    expect((await ask('GET', '/operator/teams', { headers: session })).status).toBe(200);
    expect(
      (await ask('POST', '/session', { body: {}, headers: { Origin: 'http://evil.example' } })).status,
    ).toBe(403);
  });
});

describe('pages', () => {
  it('run their own files alone, in no frame', async () => {
    for (const target of ['/', '/assets/icon.svg']) {
      const { status, headers } = await ask('GET', target);
      expect(status).toBe(200);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-47DEQpj8");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy.replace(/style-src-attr 'unsafe-inline'/, '')).not.toMatch(/unsafe|http/);
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
    }
    const page = (await ask('GET', '/')).body as string;
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|https?:/);
    for (const [, name] of page.matchAll(/"(assets\/[^"]+)"/g)) {
      const file = await ask('GET', `/${name}`);
      expect(file.status, name).toBe(200);
      if (!name!.endsWith('.svg')) expect(file.headers.get('cache-control')).toContain('immutable');
    }
    for (const name of ['..%2Fpackage.json', '..%2flocation.js', 'nothing.js', ''])
      expect((await ask('GET', `/assets/${name}`)).status, name).toBe(404);
    expect((await ask('POST', '/')).status).toBe(405);
    const root = await fetch(`${test.server.operatorUrl}/`, { redirect: 'manual' });
    expect([root.status, root.headers.get('location')]).toEqual([302, '/dashboard/']);
  });
});

describe('acting for a team', () => {
  it('reads and ends its sandboxes without showing a credential', async () => {
    const headers = await signIn();
    const made = await test.api('POST', '/v2/sandboxes', {
      templateID: 'base',
      network: { allowPublicTraffic: false },
      timeout: 600,
    });
    const id = made.body.sandboxID;
    expect(made.body).toMatchObject({
      envdAccessToken: expect.any(String),
      trafficAccessToken: expect.any(String),
    });
    const read = await ask('GET', `/api/default/sandboxes/${id}`, { headers });
    expect(read).toMatchObject({ status: 200, body: { sandboxID: id, state: 'running' } });
    expect(read.headers.get('content-security-policy')).toContain('sandbox');
    expect(read.headers.get('access-control-allow-origin')).toBeNull();
    const resumed = await ask('POST', `/api/default/v2/sandboxes/${id}/connect`, {
      headers,
      body: { timeout: 600 },
    });
    expect(resumed.status).toBe(200);
    for (const { body } of [read, resumed]) expect(JSON.stringify(body)).not.toMatch(/AccessToken/);

    const daemon = { ...headers, 'Svc-Sandbox-Id': id, 'Svc-Sandbox-Port': '49983' };
    const metrics = await ask('GET', '/gateway/default/metrics', { headers: daemon });
    expect(metrics.status).toBe(200);
    expect(metrics.headers.get('content-disposition')).toBe('attachment');
    // Programs on other ports must not speak for this address.
    const other = { ...daemon, 'Svc-Sandbox-Port': '8080' };
    expect((await ask('GET', '/gateway/default/', { headers: other })).status).toBe(403);
    expect((await ask('GET', '/gateway/default/metrics', { headers })).status).toBe(403);
    expect((await ask('POST', '/gateway/default/init', { headers: daemon, body: {} })).status).toBe(404);

    const bearer = { Authorization: `Bearer ${test.server.operatorToken}` };
    const json = { 'Content-Type': 'application/json' };
    const teams = `${test.server.operatorUrl}/teams`;
    const stranger = JSON.stringify({ slug: 'stranger' });
    await fetch(teams, { method: 'POST', headers: { ...bearer, ...json }, body: stranger });
    expect((await ask('GET', `/api/stranger/sandboxes/${id}`, { headers })).status).toBe(404);
    expect((await ask('GET', '/gateway/stranger/metrics', { headers: daemon })).status).toBe(404);
    expect((await ask('GET', '/api/nobody/v2/sandboxes', { headers })).status).toBe(404);
    // The operator of a banned team must be able to look.
    const ban = JSON.stringify({ banned: true });
    await fetch(`${teams}/stranger`, { method: 'PATCH', headers: { ...bearer, ...json }, body: ban });
    expect((await ask('GET', '/api/stranger/v2/sandboxes', { headers })).status).toBe(200);
    expect((await ask('DELETE', `/api/default/sandboxes/${id}`, { headers })).status).toBe(204);
    expect((await test.api('GET', `/sandboxes/${id}`)).status).toBe(404);
  });

  const allowed = (rules: Readonly<Record<string, OperationRules>>) =>
    Object.keys(rules).filter((operationId) => rules[operationId]?.dashboard !== undefined);

  it('refuses every operation that makes, changes or shows a credential', async () => {
    const headers = await signIn();
    const platform = allowed(platformRules);
    const operator = allowed(operatorRules);
    for (const [operationId, { method, path }] of Object.entries(platformOperations)) {
      if (platform.includes(operationId)) continue;
      const target = `/api/default${path.replace(/\{\w+\}/g, 'x')}`;
      const answer = await ask(method, target, { headers, ...(method === 'GET' ? {} : { body: {} }) });
      expect([operationId, answer.status]).toEqual([operationId, 403]);
    }
    for (const [operationId, { method, path }] of Object.entries(operatorOperations)) {
      if (operator.includes(operationId)) continue;
      const target = `/operator${path.replace(/\{\w+\}/g, 'x')}`;
      const answer = await ask(method, target, { headers, ...(method === 'GET' ? {} : { body: {} }) });
      expect([operationId, answer.status]).toEqual([operationId, 403]);
    }
    const named = [...platform, ...operator].join(' ');
    // The one that lists keys shows names and masks.
    expect(named.replace('listTeamApiKeys', '')).not.toMatch(
      /ApiKey|createSecret|updateSecret|createWebhook|updateWebhook|Upload|Link|Code/,
    );
  });

  it('takes nothing from the rates of the team, nor can anybody send its credential', async () => {
    const headers = await signIn();
    const limited = await startTestServer({
      rateLimits: { general: { rate: 0.001, burst: 1 }, create: { rate: 1, burst: 1 } },
    });
    try {
      const session = await limitedSession(limited);
      for (let turn = 0; turn < 3; turn += 1)
        expect((await fetch(session.url, { headers: session.headers })).status).toBe(200);
      expect((await limited.api('GET', '/team')).status).toBe(200);
      expect((await limited.api('GET', '/team')).status).toBe(429);
    } finally {
      await limited[Symbol.asyncDispose]();
    }
    for (const key of ['svcact_', 'svcact_a.1.b', `svcact_default.${Date.now()}.${'0'.repeat(64)}`]) {
      expect((await test.api('GET', '/team', undefined, { 'X-API-Key': key })).status).toBe(401);
      // A credential that a page sends in its place is dropped.
      const answer = await ask('GET', '/api/default/team', { headers: { ...headers, 'X-API-Key': key } });
      expect(answer.status).toBe(200);
    }
  });
});

describe('operating teams', () => {
  const limits = { maxConcurrentSandboxes: 7 };

  it('sets limits, and nothing else of a team', async () => {
    const headers = await signIn();
    const change = (body: object, more: Record<string, string> = {}) =>
      ask('PATCH', '/operator/teams/default', { headers: { ...headers, ...more }, body });
    const changed = await change({ limits });
    expect(changed).toMatchObject({ status: 200, body: { limits, ownLimits: ['maxConcurrentSandboxes'] } });
    for (const more of [
      { banned: true },
      { blocked: true },
      { name: 'mine' },
      { features: { egressProxy: true } },
    ])
      for (const body of [more, { limits: { maxConcurrentSandboxes: 1 }, ...more }])
        expect(await change(body)).toMatchObject({
          status: 403,
          body: { message: expect.stringContaining('the dashboard may not do this') },
        });
    for (const more of [{ 'Svc-Dashboard': '' }, { Cookie: '' }])
      expect((await change({ limits }, more)).status).toBe(401);
    for (const more of [{ Origin: 'http://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }])
      expect((await change({ limits }, more)).status).toBe(403);
    const wrong = await change({ limits: { maxConcurrentSandboxes: -1 } });
    expect(wrong).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('maxConcurrentSandboxes') },
    });
    expect((await ask('GET', '/operator/teams/default', { headers })).body).toMatchObject({
      ...{ limits, name: changed.body.name, banned: false, blocked: false, features: changed.body.features },
    });
  });

  it('is in the audit trail as the operator by the dashboard, also of what is done for a team', async () => {
    const headers = { ...(await signIn()), 'X-Request-Id': 'by-the-dashboard' };
    await ask('PATCH', '/operator/teams/default', { headers, body: { limits: { maxSecrets: 3 } } });
    await ask('DELETE', '/api/default/sandboxes/inothere', { headers });
    const trail = await ask('GET', '/operator/audit?actor=dashboard&limit=2', { headers });
    const actor = { kind: 'operator', id: 'dashboard' };
    expect(trail.body).toMatchObject([
      { actor, operation: 'killSandbox', resource: { kind: 'sandbox', id: 'inothere' } },
      { actor, operation: 'updateTeam', requestID: 'by-the-dashboard' },
    ]);
    const bearer = {
      Authorization: `Bearer ${test.server.operatorToken}`,
      'Content-Type': 'application/json',
    };
    const body = JSON.stringify({ limits: { maxSecrets: null } });
    await fetch(`${test.server.operatorUrl}/teams/default`, { method: 'PATCH', headers: bearer, body });
    const [last] = (await ask('GET', '/operator/audit?limit=1', { headers })).body;
    expect(last.operation).toBe('updateTeam');
    expect(last.actor).toEqual({ kind: 'operator' });
    const byOperator = await ask('GET', '/operator/audit?actor=operator&limit=3', { headers });
    expect(byOperator.body).toHaveLength(3);
  });

  it('shows names and masks of keys, and no key', async () => {
    const headers = await signIn();
    const listed = await ask('GET', '/operator/teams/default/api-keys', { headers });
    expect(listed.status).toBe(200);
    expect(listed.body.length).toBeGreaterThan(0);
    const secret = test.server.apiKey.slice('svc_'.length);
    for (let start = 0; start + 8 <= secret.length; start += 1)
      expect(JSON.stringify(listed.body)).not.toContain(secret.slice(start, start + 8));
    const id = listed.body[0].id;
    for (const [method, target] of [
      ['POST', '/operator/teams/default/api-keys'],
      ['DELETE', `/operator/teams/default/api-keys/${id}`],
      ['POST', `/operator/api-keys/${id}/rotate`],
    ] as const)
      expect([target, (await ask(method, target, { headers, body: { name: 'x' } })).status]).toEqual([
        target,
        403,
      ]);
  });
});

async function limitedSession(server: TestServer): Promise<{ url: string; headers: Record<string, string> }> {
  const { operatorUrl, operatorToken } = server.server;
  const answer = await fetch(`${operatorUrl}/dashboard/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: operatorToken }),
  });
  const { proof } = (await answer.json()) as { proof: string };
  const Cookie = answer.headers.get('set-cookie')!.split(';', 1)[0]!;
  const headers = { Cookie, 'Svc-Dashboard': proof };
  return { url: `${operatorUrl}/dashboard/api/default/team`, headers };
}

import { readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { operatorOperations } from '@svc/platform/operator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test?.[Symbol.asyncDispose]());

/** Asks the operator port, with its token unless told otherwise. */
async function operate(
  method: string,
  target: string,
  body?: unknown,
  headers: Record<string, string> = { Authorization: `Bearer ${test.server.operatorToken}` },
): Promise<ApiAnswer> {
  const json = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(`${test.server.operatorUrl}${target}`, { method, headers, ...json });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

let made = 0;
/** A team with a key. */
async function newTeam(settings: object = {}): Promise<{ slug: string; headers: Record<string, string> }> {
  const slug = `team-${++made}`;
  expect((await operate('POST', '/teams', { slug, ...settings })).status).toBe(201);
  const key = await operate('POST', `/teams/${slug}/api-keys`, { name: 'first' });
  expect(key).toMatchObject({ status: 201, body: { name: 'first', lastUsed: null } });
  return { slug, headers: { 'X-API-Key': key.body.key } };
}

describe('the operator token', () => {
  it('is kept in a file that only its owner reads, and stays over a restart', async () => {
    const file = path.join(test.dataDir, 'operator-token');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, 'utf8')).trim()).toBe(test.server.operatorToken);
    const before = test.server.operatorToken;
    await test.restart();
    expect(test.server.operatorToken).toBe(before);
  });

  it('may be given, and is not written then', async () => {
    const operatorToken = 'a-token-of-the-operator-of-32-chars';
    await using other = await startTestServer({ operatorToken });
    const headers = { Authorization: `Bearer ${operatorToken}` };
    expect((await fetch(`${other.server.operatorUrl}/teams`, { headers })).status).toBe(200);
    await expect(stat(path.join(other.dataDir, 'operator-token'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(startTestServer({ operatorToken: 'short' })).rejects.toThrow(/at least 32/);
  });

  it('is asked for by every operation, before anything else is looked at', async () => {
    const { operatorToken, apiKey } = test.server;
    const wrong: Record<string, string>[] = [
      {},
      { Authorization: '' },
      { Authorization: 'Bearer ' },
      { Authorization: operatorToken },
      { Authorization: `Basic ${operatorToken}` },
      { Authorization: `Bearer ${operatorToken}x` },
      { Authorization: `Bearer ${apiKey}` },
      { 'X-API-Key': apiKey },
      { 'X-API-Key': operatorToken },
    ];
    const places = Object.values(operatorOperations).map(({ method, path }) => [method, path] as const);
    expect(places).toContainEqual(['POST', '/teams']);
    for (const [method, place] of [...places, ['GET', '/nothing-here'], ['PUT', '/teams']] as const) {
      for (const headers of wrong) {
        const body = method === 'POST' || method === 'PATCH' ? 'no json' : undefined;
        const answer = await operate(method, place, body, headers);
        expect(answer).toMatchObject({ status: 401, body: { code: 401 } });
        expect(JSON.stringify(answer.body)).not.toContain(operatorToken);
      }
    }
  });

  it('opens nothing of the platform API, whose port knows none of the operations', async () => {
    const { apiUrl, operatorToken } = test.server;
    for (const headers of [
      { 'X-API-Key': operatorToken },
      { Authorization: `Bearer ${operatorToken}` },
      { 'X-API-Key': test.server.apiKey, Authorization: `Bearer ${operatorToken}` },
    ] as Record<string, string>[]) {
      const team = await fetch(`${apiUrl}/team`, { headers: { ...headers } });
      expect(team.status).toBe('X-API-Key' in headers && headers['X-API-Key'] !== operatorToken ? 200 : 401);
      expect((await fetch(`${apiUrl}/teams`, { headers })).status).toBe(404);
    }
  });

  it('leaves figures open to any client', async () => {
    expect((await fetch(`${test.server.operatorUrl}/status`)).status).toBe(200);
    expect((await fetch(`${test.server.operatorUrl}/metrics`)).status).toBe(200);
  });
});

describe('teams on the operator port', () => {
  it('are made, read by slug and by id, and listed page by page', async () => {
    const { slug } = await newTeam({ name: 'Team of people' });
    const bySlug = await operate('GET', `/teams/${slug}`);
    expect(bySlug.body).toMatchObject({ slug, name: 'Team of people', banned: false, blocked: false });
    expect(bySlug.body).toMatchObject({
      blockedReason: null,
      ownLimits: [],
      features: { egressProxy: false },
    });
    expect((await operate('GET', `/teams/${bySlug.body.teamID}`)).body).toEqual(bySlug.body);
    const seen: string[] = [];
    let token: string | null = null;
    do {
      const page: ApiAnswer = await operate('GET', `/teams?limit=1${token ? `&nextToken=${token}` : ''}`);
      expect(page.body).toHaveLength(1);
      seen.push(page.body[0].slug);
      token = page.headers.get('x-next-token');
    } while (token !== null);
    expect(seen[0]).toBe('default');
    expect(seen).toContain(slug);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('get limits of their own, which hold at once, and go back to the defaults', async () => {
    const { slug, headers } = await newTeam({ limits: { maxSecrets: 1, maxTimeToLiveSeconds: 60 } });
    const secret = (name: string) => test.api('POST', '/secrets', { name, value: 'v' }, headers);
    expect((await secret('one')).status).toBe(201);
    expect((await secret('two')).status).toBe(409);
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 'base' }, headers)).status).toBe(400);
    const raised = await operate('PATCH', `/teams/${slug}`, { limits: { maxSecrets: 2 } });
    expect(raised.body).toMatchObject({ limits: { maxSecrets: 2, maxTimeToLiveSeconds: 60 } });
    expect(raised.body.ownLimits.sort()).toEqual(['maxSecrets', 'maxTimeToLiveSeconds']);
    expect((await secret('two')).status).toBe(201);
    const reset = await operate('PATCH', `/teams/${slug}`, {
      limits: { maxSecrets: null, maxTimeToLiveSeconds: null, maxMemoryMB: 256, unknown: 1 },
    });
    expect(reset.body).toMatchObject({ ownLimits: ['maxMemoryMB'], limits: { maxMemoryMB: 256 } });
    expect(reset.body.limits.maxTimeToLiveSeconds).toBe(86_400);
    expect((await test.api('GET', '/team', undefined, headers)).body.limits).toEqual(reset.body.limits);
  });

  it('get features', async () => {
    const { slug, headers } = await newTeam();
    const features = { egressProxy: true };
    const changed = await operate('PATCH', `/teams/${slug}`, { features: { ...features, other: true } });
    expect(changed.body.features).toEqual(features);
    expect((await test.api('GET', '/team', undefined, headers)).body.features).toEqual(features);
    expect((await operate('PATCH', `/teams/${slug}`, { name: 'New' })).body).toMatchObject({
      name: 'New',
      features,
    });
  });

  it('are banned and blocked at once, with the reason, and let in again', async () => {
    const { slug, headers } = await newTeam();
    const read = () => test.api('GET', '/secrets', undefined, headers);
    const write = () =>
      test.api('POST', '/secrets', { name: `s-${Math.random()}`.replace('.', ''), value: 'v' }, headers);
    const change = async (body: object) =>
      expect((await operate('PATCH', `/teams/${slug}`, body)).status).toBe(200);
    expect((await write()).status).toBe(201);
    await change({ banned: true });
    expect(await read()).toMatchObject({ status: 403, body: { message: 'team is banned' } });
    await change({ banned: false, blocked: true, blockedReason: 'the invoice is open' });
    expect((await read()).status).toBe(200);
    expect(await write()).toMatchObject({
      status: 403,
      body: { message: 'team is blocked: the invoice is open' },
    });
    await change({ blocked: false });
    expect((await write()).status).toBe(201);
    expect((await operate('GET', `/teams/${slug}`)).body).toMatchObject({
      blocked: false,
      blockedReason: null,
    });
  });

  it('get keys, and lose them at once', async () => {
    const { slug, headers } = await newTeam();
    const second = await operate('POST', `/teams/${slug}/api-keys`, { name: 'second' });
    const listed = await operate('GET', `/teams/${slug}/api-keys`);
    expect(listed.body.map(({ name }: { name: string }) => name).sort()).toEqual(['first', 'second']);
    expect(JSON.stringify(listed.body)).not.toContain(second.body.key);
    const withSecond = { 'X-API-Key': second.body.key };
    expect((await test.api('GET', '/team', undefined, withSecond)).body.slug).toBe(slug);
    const key = `/teams/${slug}/api-keys/${second.body.id}`;
    expect((await operate('DELETE', `/teams/default/api-keys/${second.body.id}`)).status).toBe(404);
    expect((await operate('DELETE', key)).status).toBe(204);
    expect((await test.api('GET', '/team', undefined, withSecond)).status).toBe(401);
    expect((await operate('DELETE', key)).status).toBe(404);
    expect((await test.api('GET', '/team', undefined, headers)).status).toBe(200);
  });

  it('refuse what makes no sense, naming the field and never its value', async () => {
    const { slug } = await newTeam();
    const uuid = '00000000-0000-4000-8000-000000000000';
    const bad: [string, string, unknown, number][] = [
      ['POST', '/teams', undefined, 400],
      ['POST', '/teams', '{', 400],
      ['POST', '/teams', [], 400],
      ['POST', '/teams', {}, 400],
      ['POST', '/teams', { slug: 'Upper' }, 400],
      ['POST', '/teams', { slug: 'a/b' }, 400],
      ['POST', '/teams', { slug: '-a' }, 400],
      ['POST', '/teams', { slug: uuid }, 400],
      ['POST', '/teams', { slug }, 409],
      ['POST', '/teams', { slug: 'fine', name: 'with\u0000nul' }, 400],
      ['PATCH', `/teams/${slug}`, { limits: { maxSecrets: -1 } }, 400],
      ['PATCH', `/teams/${slug}`, { limits: { maxTimeToLiveSeconds: 0 } }, 400],
      ['PATCH', `/teams/${slug}`, { limits: { maxCpuCount: '8' } }, 400],
      ['PATCH', `/teams/${slug}`, { banned: 'yes' }, 400],
      ['PATCH', '/teams/unknown', { banned: true }, 404],
      ['GET', '/teams/unknown', undefined, 404],
      ['GET', `/teams/${uuid}`, undefined, 404],
      ['GET', '/teams/%ff', undefined, 400],
      ['GET', '/teams?limit=0', undefined, 400],
      ['GET', '/teams?limit=101', undefined, 400],
      ['GET', '/teams?nextToken=garbage', undefined, 400],
      ['POST', `/teams/${slug}/api-keys`, { name: '' }, 400],
      ['POST', '/teams/unknown/api-keys', { name: 'x' }, 404],
      ['DELETE', `/teams/${slug}/api-keys/none`, undefined, 400],
      ['PUT', '/teams', undefined, 405],
      ['GET', '/teams/', undefined, 404],
      ['GET', '/teams/a/b/c', undefined, 404],
    ];
    for (const [method, target, body, status] of bad) {
      const answer = await operate(method, target, body);
      expect([method, target, body, answer.status]).toEqual([method, target, body, status]);
      expect(answer.body.code).toBe(status);
    }
    const large = await operate('POST', '/teams', { slug: 'large', name: 'x'.repeat(70_000) });
    expect(large.status).toBe(413);
  });

  it('lose neither of two changes at once', async () => {
    const { slug } = await newTeam();
    const names = [
      'maxSecrets',
      'maxWebhooks',
      'maxCpuCount',
      'maxConcurrentBuilds',
      'maxConcurrentSandboxes',
    ];
    await Promise.all(names.map((name) => operate('PATCH', `/teams/${slug}`, { limits: { [name]: 7 } })));
    expect((await operate('GET', `/teams/${slug}`)).body.ownLimits.sort()).toEqual(names.sort());
  });

  it('are not reached by a web page: no answer allows another origin', async () => {
    const headers = { Origin: 'http://evil.test', 'Access-Control-Request-Headers': 'authorization' };
    const answer = await operate('OPTIONS', '/teams', undefined, headers);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, null]);
  });

  it('do not hang on a request whose body never comes', async () => {
    const { hostname, port } = new URL(test.server.operatorUrl ?? '');
    const socket = connect(Number(port), hostname);
    socket.write('POST /teams HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n');
    const text = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    expect(text).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close/i);
    socket.destroy();
  });
});

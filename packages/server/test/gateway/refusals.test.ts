import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { ask, Fixture, rawClient, reply, to } from './fixture.js';

const json = 'application/json; charset=utf-8';
const text = 'text/plain; charset=utf-8';

describe('answers of the gateway itself', () => {
  it.each([
    ['a missing port header', { 'Svc-Sandbox-Id': 'abc' }, 400, 'missing header\n'],
    ['a missing id header', { 'Svc-Sandbox-Port': '80' }, 400, 'missing header\n'],
    ['a host that cannot be parsed', {}, 400, 'Invalid host\n'],
    ['a bad sandbox id', to('A_b', 80), 400, 'Invalid sandbox ID\n'],
    ['a bad port', to('abc', 'x'), 400, 'Invalid sandbox port\n'],
    ['a port out of range', to('abc', 70_000), 400, 'Invalid sandbox port\n'],
  ])('%s', async (_name, headers, status, body) => {
    await using fixture = await Fixture.open();
    const answer = await ask(fixture.port, { headers });
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers).toMatchObject({
      'content-type': text,
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers).not.toHaveProperty('vary');
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('missing headers on the configured sandbox host', async () => {
    await using fixture = await Fixture.open({ config: { sandboxHosts: ['sbx.test'] } });
    const answer = await ask(fixture.port, { headers: { Host: 'sbx.test' } });
    expect(answer).toMatchObject({ status: 400, body: 'missing header\n' });
  });

  it('an unknown sandbox', async () => {
    await using fixture = await Fixture.open();
    const answer = await ask(fixture.port, { headers: to('nope', 80) });
    expect(answer.status).toBe(502);
    expect(answer.headers).toMatchObject({ 'content-type': json, 'access-control-allow-origin': '*' });
    expect(JSON.parse(answer.body)).toEqual({
      sandboxId: 'nope',
      message: 'The sandbox was not found',
      code: 502,
    });
    expect(fixture.gateway.stats.refusals.sandbox_not_found).toBe(1);
  });

  it('a paused sandbox that may not be woken', async () => {
    await using fixture = await Fixture.open();
    fixture.add('sleepy', { state: 'paused' });
    const answer = await ask(fixture.port, { headers: to('sleepy', 49_983) });
    expect(JSON.parse(answer.body)).toEqual({
      sandboxId: 'sleepy',
      message: 'The sandbox was not found',
      code: 502,
    });
  });

  it('a port on which nothing listens', async () => {
    await using fixture = await Fixture.open();
    fixture.add('abc');
    const answer = await ask(fixture.port, {
      headers: to('abc', 8080),
      method: 'POST',
      body: 'x'.repeat(200_000),
    });
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body)).toEqual({
      sandboxId: 'abc',
      message: 'The sandbox is running but port 8080 is not open',
      port: 8080,
      code: 502,
    });
  });

  it('an instance that ended behind the back of the server', async () => {
    await using fixture = await Fixture.open();
    fixture.add('abc', {
      dial: () => Promise.reject(Object.assign(new Error('x'), { code: 'instance_gone' })),
    });
    const answer = await ask(fixture.port, { headers: to('abc', 8080) });
    expect(JSON.parse(answer.body)).toMatchObject({ message: 'The sandbox was not found', code: 502 });
  });

  it('a sandbox whose transition takes longer than the wait', async () => {
    await using fixture = await Fixture.open({ config: { transitionWaitMs: 20 } });
    fixture.add('busy', { state: 'transition' });
    const answer = await ask(fixture.port, { headers: to('busy', 80) });
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.body)).toMatchObject({ sandboxId: 'busy', code: 409 });
  });

  it('too many connections to one sandbox', async () => {
    await using fixture = await Fixture.open({ config: { connectionLimitPerSandbox: 2 } });
    const sandbox = fixture.add('abc');
    const held: (() => void)[] = [];
    await fixture.serve(sandbox, 80, (_req, res) => void held.push(() => reply(res, 200, 'done')));
    const open = [1, 2].map(() => ask(fixture.port, { headers: to('abc', 80) }));
    await eventually('two requests', () => held.length === 2);
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer.status).toBe(429);
    expect(JSON.parse(answer.body)).toMatchObject({ sandboxId: 'abc', connectionLimit: 2, code: 429 });
    for (const release of held) release();
    expect((await Promise.all(open)).map(({ body }) => body)).toEqual(['done', 'done']);
    const again = ask(fixture.port, { headers: to('abc', 80) });
    await eventually('a third request', () => held.length === 3);
    held[2]?.();
    expect((await again).status).toBe(200);
  });

  it('a sandbox that closes the connection before it answers', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    await fixture.serveTcp(sandbox, 80, (socket) => void socket.once('data', () => socket.destroy()));
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer).toMatchObject({
      status: 502,
      body: 'The sandbox closed the connection before it answered\n',
    });
  });

  it('a sandbox that answers with something other than HTTP', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    await fixture.serveTcp(
      sandbox,
      80,
      (socket) => void socket.once('data', () => socket.end('SSH-2.0-x\r\n')),
    );
    expect((await ask(fixture.port, { headers: to('abc', 80) })).status).toBe(502);
  });

  it.each(['/init', '//init', '/%69nit', '/x/../logs', '/freeze/'])(
    'the internal route %s of the daemon, before the sandbox is looked up',
    async (path) => {
      let lookedUp = false;
      await using fixture = await Fixture.open({
        findRoute: () => {
          lookedUp = true;
          return undefined;
        },
      });
      const answer = await ask(fixture.port, { method: 'POST', path, headers: to('abc', 49_983) });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.body)).toMatchObject({
        path: expect.stringMatching(/^\/(init|logs|freeze)$/),
        code: 404,
      });
      expect(lookedUp).toBe(false);
    },
  );

  it('an internal route spelled as an absolute target', async () => {
    await using fixture = await Fixture.open();
    fixture.add('abc');
    const answer = await ask(fixture.port, { path: 'http://localhost/init', headers: to('abc', 49_983) });
    expect(answer.status).toBe(404);
  });

  it('internal routes are closed on the daemon port only', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (req, res) => reply(res, 200, req.url ?? ''));
    expect((await ask(fixture.port, { path: '/init', headers: to('abc', 80) })).body).toBe('/init');
  });

  it('an upgrade on an internal route', async () => {
    await using fixture = await Fixture.open();
    fixture.add('abc');
    const client = await rawClient(fixture.port);
    client.socket.write(
      'GET /%69nit HTTP/1.1\r\nHost: 49983-abc.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    await eventually('the end of the connection', client.closed);
    expect(client.text()).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('the CONNECT method', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    let reached = false;
    await fixture.serveTcp(sandbox, 49_983, () => {
      reached = true;
    });
    const client = await rawClient(fixture.port);
    client.socket.write(
      'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\nSvc-Sandbox-Id: abc\r\nSvc-Sandbox-Port: 49983\r\n\r\n',
    );
    await eventually('the end of the connection', client.closed);
    expect(client.text()).toMatch(/^HTTP\/1\.1 405 /);
    expect(client.text()).toMatch(/allow: GET/i);
    expect(reached).toBe(false);
  });
});

describe('private ingress', () => {
  const open = async () => {
    const fixture = await Fixture.open();
    const sandbox = fixture.add('abc', { allowPublicTraffic: false });
    for (const port of [80, 49_983]) {
      await fixture.serve(sandbox, port, (req, res) => reply(res, 200, JSON.stringify(req.headers)));
    }
    return fixture;
  };

  it('refuses a missing and a wrong token with a message that names the header', async () => {
    await using fixture = await open();
    for (const [token, state] of [
      [undefined, 'missing'],
      ['wrong', 'wrong'],
    ]) {
      const headers = { ...to('abc', 80), ...(token ? { 'Svc-Traffic-Access-Token': token } : {}) };
      const answer = await ask(fixture.port, { headers });
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toEqual({
        sandboxId: 'abc',
        message: expect.stringContaining(
          `The port is private: the Svc-Traffic-Access-Token header is ${state}`,
        ),
        code: 403,
      });
    }
    expect(JSON.stringify(fixture.logged)).not.toContain('traffic-secret');
  });

  it('lets the right token in and keeps it from the service', async () => {
    await using fixture = await open();
    const answer = await ask(fixture.port, {
      headers: { ...to('abc', 80), 'svc-traffic-access-token': 'traffic-secret' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).not.toContain('traffic-secret');
    expect(JSON.parse(answer.body)).toMatchObject({ 'svc-sandbox-id': 'abc', 'svc-sandbox-port': '80' });
  });

  it('does not ask for it on the daemon port', async () => {
    await using fixture = await open();
    expect((await ask(fixture.port, { headers: to('abc', 49_983) })).status).toBe(200);
  });

  it('answers the preflight of a page itself, which cannot carry the token', async () => {
    await using fixture = await open();
    const answer = await ask(fixture.port, {
      method: 'OPTIONS',
      headers: { ...to('abc', 80), 'Access-Control-Request-Method': 'GET' },
    });
    expect(answer.status).toBe(204);
  });
});

describe('preflights', () => {
  const preflight = { 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'x-a, x-b' };

  it.each([
    ['a routing error', { ...preflight, 'Svc-Sandbox-Id': 'abc' }],
    ['an unknown sandbox', { ...preflight, ...to('nope', 80) }],
    ['a closed port', { ...preflight, ...to('abc', 80) }],
  ])('are answered in front of %s', async (_name, headers) => {
    await using fixture = await Fixture.open();
    fixture.add('abc');
    const answer = await ask(fixture.port, { method: 'OPTIONS', headers });
    expect(answer).toMatchObject({ status: 204, body: '' });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': '*',
      'access-control-allow-headers': 'x-a, x-b',
      'access-control-max-age': '86400',
    });
  });

  it('go to a live sandbox', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => reply(res, 200, 'mine', { 'X-Own': 'yes' }));
    const answer = await ask(fixture.port, {
      method: 'OPTIONS',
      headers: { ...preflight, ...to('abc', 80) },
    });
    expect(answer).toMatchObject({ status: 200, body: 'mine' });
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('never wake a sandbox', async () => {
    let woken = 0;
    await using fixture = await Fixture.open({
      resume: async () => {
        woken++;
        return { kind: 'deleted' };
      },
    });
    fixture.add('abc', { state: 'paused', autoResume: { enabled: true } });
    const answer = await ask(fixture.port, {
      method: 'OPTIONS',
      headers: { ...preflight, ...to('abc', 80) },
    });
    expect(answer.status).toBe(204);
    expect(woken).toBe(0);
  });

  it('a plain OPTIONS is an ordinary request', async () => {
    await using fixture = await Fixture.open();
    expect((await ask(fixture.port, { method: 'OPTIONS', headers: to('nope', 80) })).status).toBe(502);
  });
});

describe('pages for browsers', () => {
  const browser = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64)' };
  it.each([
    ['a navigation', { ...browser, 'Sec-Fetch-Mode': 'navigate' }, true],
    ['a browser that does not say what it wants', browser, true],
    ['a script on a page', { ...browser, 'Sec-Fetch-Mode': 'cors' }, false],
    ['a browser that takes JSON', { ...browser, Accept: 'application/json' }, false],
    ['an XMLHttpRequest', { ...browser, 'X-Requested-With': 'XMLHttpRequest' }, false],
    ['a program', { 'User-Agent': 'curl/8', Accept: '*/*' }, false],
  ])('%s', async (_name, headers, page) => {
    await using fixture = await Fixture.open();
    const answer = await ask(fixture.port, { headers: { ...headers, ...to('nope', 80) } });
    expect(answer.status).toBe(502);
    expect(answer.headers['content-type']).toBe(page ? 'text/html; charset=utf-8' : json);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.body).toContain('The sandbox was not found');
  });
});

import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { GatewayDeps } from '../../src/gateway/contract.js';
import { ask, Fixture, rawClient, reply } from './fixture.js';

const nowMs = Date.parse('2026-05-04T10:00:00Z');
const inAnHour = nowMs / 1000 + 3600;
const host = '80-abc.test';
const chrome = 'Mozilla/5.0 Chrome/140';
const page = { Host: host, 'User-Agent': chrome, Accept: 'text/html,*/*', 'Sec-Fetch-Mode': 'navigate' };

/** Makes the link of an SDK, by the rule of the document. */
function sign({ id = 'abc', port = 80, expiry = inAnHour, token = 'traffic-secret' } = {}): string {
  const mac = createHmac('sha256', token).update(`v1\n${id}\n${port}\n${expiry}`).digest('base64url');
  return `v1.${expiry}.${mac}`;
}
const link = sign();

/** A private sandbox whose port 80 answers what it was asked. */
async function open(deps: Partial<GatewayDeps> = {}) {
  const fixture = await Fixture.open({ wallNow: () => nowMs, ...deps });
  const sandbox = fixture.add('abc', { allowPublicTraffic: false });
  const seen: { url: string | undefined; headers: string[] }[] = [];
  await fixture.serve(sandbox, 80, (req, res) => {
    seen.push({ url: req.url, headers: req.rawHeaders });
    req.resume();
    reply(res, 200, `inside ${req.method} ${req.url}`);
  });
  return { fixture, sandbox, seen };
}

describe('a link that a browser opens', () => {
  it('leads to the address without it, with a cookie that opens the port from then on', async () => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const first = await ask(fixture.port, { path: `/app?a=1&svc_preview=${link}&b=%20`, headers: page });
    expect(first.status).toBe(307);
    expect(first.headers).toMatchObject({
      location: '/app?a=1&b=%20',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    const [cookie] = first.headers['set-cookie'] ?? [];
    expect(cookie).toBe(`svc_preview=${link}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax`);
    expect(seen).toEqual([]);
    const Cookie = `theme=dark; ${cookie!.split(';')[0]}; lang=en`;
    const second = await ask(fixture.port, { path: '/app?a=1&b=%20', headers: { ...page, Cookie } });
    expect(second).toMatchObject({ status: 200, body: 'inside GET /app?a=1&b=%20' });
    expect(seen[0]!.headers).toContain('theme=dark; lang=en');
    expect(JSON.stringify(seen)).not.toContain('svc_preview');
    expect(JSON.stringify(seen)).not.toContain(link);
  });

  it.each([
    ['by the setting of the gateway', { config: { tls: true } }, {}],
    ['by the word of the proxy in front', {}, { 'X-Forwarded-Proto': 'https' }],
  ])('gets a cookie that is bound to host, TLS and embedding page, %s', async (_name, deps, headers) => {
    const { fixture } = await open(deps);
    await using _ = fixture;
    const { headers: got } = await ask(fixture.port, {
      path: `/?svc_preview=${link}`,
      headers: { ...page, ...headers },
    });
    expect(got['set-cookie']).toEqual([
      `__Host-svc_preview=${link}; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=None; Partitioned`,
    ]);
    const Cookie = `__Host-svc_preview=${link}`;
    expect((await ask(fixture.port, { headers: { ...page, Cookie } })).status).toBe(200);
  });

  it('keeps method and body of a form that is sent to it', async () => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const answer = await ask(fixture.port, {
      method: 'POST',
      path: `/form?svc_preview=${link}`,
      headers: page,
      body: 'a=b',
    });
    expect([answer.status, answer.headers.location, seen]).toEqual([307, '/form', []]);
  });

  it.each([
    ['//evil.test/a', '/.//evil.test/a'],
    ['/\\evil.test/a', '/.//evil.test/a'],
    ['/\\/evil.test', '/.///evil.test'],
    ['///evil.test', '/.///evil.test'],
    ['/a//b', '/a//b'],
  ])('never leads to another host: %s', async (path, location) => {
    const { fixture } = await open();
    await using _ = fixture;
    const client = await rawClient(fixture.port);
    const headers = Object.entries(page).map(([name, value]) => `${name}: ${value}\r\n`);
    client.socket.write(`GET ${path}?svc_preview=${link} HTTP/1.1\r\n${headers.join('')}\r\n`);
    await eventually('the answer', () => client.text().includes('\r\n\r\n'));
    const got = /\r\nlocation: (.*)\r\n/i.exec(client.text())?.[1] ?? 'none';
    const base = `https://${host}`;
    expect(new URL(got, base).origin).toBe(base);
    expect(new URL(got, base).href).toBe(new URL(location, base).href);
    client.socket.destroy();
  });
});

describe('a link that a program uses', () => {
  it.each([
    ['curl', { Host: host, 'User-Agent': 'curl/8', Accept: '*/*' }],
    ['fetch in a page', { Host: host, 'User-Agent': chrome, 'Sec-Fetch-Mode': 'cors' }],
    ['an image in a page', { Host: host, 'User-Agent': chrome, 'Sec-Fetch-Mode': 'no-cors' }],
  ])('works at once, without a place for cookies: %s', async (_name, headers) => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const Referer = `https://${host}/style.css?svc_preview=${link}&c`;
    const answer = await ask(fixture.port, {
      path: `/x?svc_preview=${link}&y`,
      headers: { ...headers, Referer },
    });
    expect(answer).toMatchObject({ status: 200, body: 'inside GET /x?y' });
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(seen[0]!.headers).toContain(`https://${host}/style.css?c`);
    expect(JSON.stringify(seen)).not.toContain(link);
  });

  it('opens WebSockets, by address or by cookie', async () => {
    const { fixture, sandbox } = await open();
    await using _ = fixture;
    let heads = '';
    await fixture.serveTcp(sandbox, 80, (socket) => {
      socket.on('data', (data) => {
        heads += data;
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      });
    });
    const upgrade = `Host: ${host}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n`;
    for (const request of [
      `GET /live?svc_preview=${link} HTTP/1.1\r\nOrigin: https://elsewhere.test\r\n${upgrade}\r\n`,
      `GET /live HTTP/1.1\r\nOrigin: http://${host}\r\nCookie: svc_preview=${link}\r\n${upgrade}\r\n`,
    ]) {
      const client = await rawClient(fixture.port);
      client.socket.write(request);
      await eventually('the switch', () => client.text().startsWith('HTTP/1.1 101'));
      client.socket.destroy();
    }
    expect(heads.match(/GET \/live HTTP/g)).toHaveLength(2);
    expect(heads).not.toContain('svc_preview');
  });

  it('carries a preflight of a page to the service, which answers it', async () => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const headers = {
      Host: host,
      Origin: 'https://elsewhere.test',
      'Access-Control-Request-Method': 'PUT',
    };
    await ask(fixture.port, { method: 'OPTIONS', path: `/x?svc_preview=${link}`, headers });
    expect(seen.map(({ url }) => url)).toEqual(['/x']);
  });
});

describe('what is no valid link', () => {
  const tampered = `${link.slice(0, -2)}${link.endsWith('AA') ? 'BB' : 'AA'}`;
  it.each([
    ['an expired one', sign({ expiry: nowMs / 1000 })],
    ['one of another sandbox', sign({ id: 'abd' })],
    ['one of another port', sign({ port: 81 })],
    ['one signed with another token', sign({ token: 'other' })],
    ['one with an altered signature', tampered],
    ['one with a later expiry', link.replace(String(inAnHour), String(inAnHour + 1))],
    ['one with the expiry written another way', link.replace(String(inAnHour), `0${inAnHour}`)],
    ['a negative expiry', sign({ expiry: -1 })],
    ['one of another version', link.replace('v1', 'v2')],
    ['an empty one', ''],
    ['the token itself', 'traffic-secret'],
    ['one with a tail', `${link}.x`],
  ])('is refused with the same words, in the address and as a cookie: %s', async (_name, value) => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const refusal = {
      sandboxId: 'abc',
      message: 'The port is private: the link has expired or is wrong. Ask for a new one',
      code: 403,
    };
    for (const request of [
      { path: `/?svc_preview=${encodeURIComponent(value)}`, headers: { Host: host } },
      { headers: { Host: host, Cookie: `svc_preview=${value}` } },
    ]) {
      const { status, body } = await ask(fixture.port, request);
      expect([status, JSON.parse(body)]).toEqual([403, refusal]);
    }
    expect(seen).toEqual([]);
  });

  it('is one in a path, in a header, doubly escaped, or after another separator', async () => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    for (const path of [
      `/svc_preview=${link}`,
      `/;svc_preview=${link}`,
      `/?a=1;svc_preview=${link}`,
      `/?svc%255Fpreview=${link}`,
      `/?svc_preview[]=${link}`,
      `/?SVC_PREVIEW=${link}`,
    ])
      expect((await ask(fixture.port, { path, headers: { Host: host } })).status, path).toBe(403);
    for (const headers of [{ 'Svc-Traffic-Access-Token': link }, { Authorization: link }, { Referer: link }])
      expect((await ask(fixture.port, { headers: { Host: host, ...headers } })).status).toBe(403);
    expect(seen).toEqual([]);
  });

  it('stops to open the moment that it expires, as a cookie too', async () => {
    let now = nowMs;
    const { fixture } = await open({ wallNow: () => now });
    await using _ = fixture;
    const headers = { Host: host, Cookie: `svc_preview=${link}` };
    now = inAnHour * 1000 - 1;
    expect((await ask(fixture.port, { headers })).status).toBe(200);
    now += 1;
    expect((await ask(fixture.port, { headers })).status).toBe(403);
  });

  it('does not open the daemon, and opens nothing by the header of another host', async () => {
    const { fixture } = await open();
    await using _ = fixture;
    fixture.add('abd', { allowPublicTraffic: false });
    const elsewhere = { Host: '80-abd.test', 'X-Forwarded-Host': host };
    const answer = await ask(fixture.port, { path: `/?svc_preview=${link}`, headers: elsewhere });
    expect([answer.status, JSON.parse(answer.body).sandboxId]).toEqual([403, 'abd']);
  });
});

describe('what others do with links', () => {
  it('removes them all, however often and however escaped they come', async () => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const path = `/x?svc_preview=old&%73vc_preview=${link}&svc%5Fpreview=${link}&svc_preview&z=1`;
    const Cookie = `SVC_preview=${link};a=1; __Host-svc_preview=${link}; svc_preview=`;
    const answer = await ask(fixture.port, { path, headers: { Host: host, Cookie } });
    expect(answer).toMatchObject({ status: 200, body: 'inside GET /x?z=1' });
    expect(seen[0]!.headers).toContain('a=1');
    expect(JSON.stringify(seen)).not.toMatch(/svc_preview|v1\./i);
  });

  it('opens to the right cookie among those that a neighbour planted for the whole domain', async () => {
    const { fixture } = await open();
    await using _ = fixture;
    const planted = Array.from({ length: 200 }, (_, n) => `svc_preview=${sign({ id: `evil${n}` })}`);
    const Cookie = [...planted, `svc_preview=${link}`].join('; ');
    expect((await ask(fixture.port, { headers: { Host: host, Cookie } })).status).toBe(200);
  });

  it.each([
    ['a script of a neighbour', { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors' }],
    ['a script of another site', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }],
    ['a page of an older browser', { Origin: 'http://80-evil.test' }],
    ['a page without an origin', { Origin: 'null' }],
    ['a page on another port', { Origin: `http://${host}:8080` }],
    ['a page whose origin only begins like ours', { Origin: `http://${host}.evil.test` }],
  ])('does not open to a cookie that is sent for %s', async (_name, headers) => {
    const { fixture, seen } = await open();
    await using _ = fixture;
    const Cookie = `svc_preview=${link}`;
    const answer = await ask(fixture.port, { headers: { Host: host, Cookie, ...headers } });
    expect([answer.status, seen]).toEqual([403, []]);
    const client = await rawClient(fixture.port);
    const [[name, value] = []] = Object.entries(headers);
    client.socket.write(
      `GET /live HTTP/1.1\r\nHost: ${host}\r\nCookie: ${Cookie}\r\n${name}: ${value}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    await eventually('the refusal', () => client.closed());
    expect(client.text()).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('opens to links from other pages that people follow, but not to forms that those send', async () => {
    const { fixture } = await open();
    await using _ = fixture;
    const headers = { ...page, Cookie: `svc_preview=${link}`, 'Sec-Fetch-Site': 'cross-site' };
    expect((await ask(fixture.port, { headers })).status).toBe(200);
    const Origin = 'https://elsewhere.test';
    const form = await ask(fixture.port, { method: 'POST', headers: { ...headers, Origin }, body: 'x' });
    expect(form.status).toBe(403);
    const own = { ...headers, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' };
    expect((await ask(fixture.port, { method: 'POST', headers: own, body: 'x' })).status).toBe(200);
  });

  it('tells a browser in words what is missing, and keeps the token and the links out of the log', async () => {
    const { fixture } = await open();
    await using _ = fixture;
    const none = await ask(fixture.port, { headers: page });
    expect(none.headers['content-type']).toMatch(/^text\/html/);
    expect(none.body).toContain('open a link that has not expired and allow its cookie');
    await ask(fixture.port, { path: `/?svc_preview=${link}`, headers: page });
    await ask(fixture.port, { path: `/?svc_preview=${link}x`, headers: page });
    expect(JSON.stringify(fixture.logged)).not.toMatch(/v1\.|traffic-secret/);
  });

  it('wakes a paused sandbox by a valid link alone', async () => {
    const woken: string[] = [];
    const { fixture, sandbox } = await open({
      resume: async (id) => {
        woken.push(id);
        return { kind: 'running', route: { ...sandbox.route, state: 'running' } };
      },
    });
    await using _ = fixture;
    Object.assign(sandbox.route, { state: 'paused', autoResume: { enabled: true } });
    const at = (value: string) =>
      ask(fixture.port, { path: `/?svc_preview=${value}`, headers: { Host: host } });
    expect([(await at(`${link}x`)).status, woken]).toEqual([403, []]);
    expect([(await at(link)).status, woken]).toEqual([200, ['abc']]);
  });

  it('passes nothing of the name to public sandboxes and to daemons either', async () => {
    const { fixture, sandbox, seen } = await open();
    await using _ = fixture;
    sandbox.route.allowPublicTraffic = true;
    const headers = { ...page, Cookie: `svc_preview=${link}` };
    const answer = await ask(fixture.port, { path: `/x?svc_preview=${link}`, headers });
    expect(answer).toMatchObject({ status: 200, body: 'inside GET /x' });
    expect(JSON.stringify(seen)).not.toContain(link);
  });
});

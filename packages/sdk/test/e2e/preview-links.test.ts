import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { chromium, launchChromium, type TestBrowser } from '@svc/support/testing/chromium';
import { describeOnServer, type Fixture } from '@svc/support/testing/on-server';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/index.js';

/** Accesses that a page of a browser can try on an address: fetch it with its cookies, and open a WebSocket. */
const TRY = `async (address) => {
  const socket = new WebSocket(address.replace(/^http/, 'ws'));
  const said = await new Promise((resolve) => {
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => resolve('refused');
  });
  const init = { credentials: 'include', mode: 'no-cors', method: 'POST', body: 'x' };
  await fetch(address + '?by=fetch', init).catch(() => {});
  return said;
}`;

/** A listener in a sandbox: with the process driver, a service of this machine. */
interface Service {
  port: number;
  seen: { method: string | undefined; url: string | undefined; headers: string[] }[];
}

const suite = (fixture: Fixture) => {
  let opened: TestBrowser;
  let closed: Sandbox;
  let neighbour: Sandbox;
  const closing: (() => void)[] = [];
  beforeAll(async () => {
    const gatewayPort = Number(new URL(fixture.server.sandboxUrl).port);
    opened = await launchChromium([gatewayPort], '--test-third-party-cookie-phaseout');
    const { sandboxes } = fixture.client();
    closed = await sandboxes.create({ network: { allowPublicTraffic: false }, timeoutMs: 600_000 });
    neighbour = await sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    for (const close of closing) close();
  });

  async function serve(): Promise<Service> {
    const seen: Service['seen'] = [];
    const note = ({ method, url, rawHeaders }: http.IncomingMessage) =>
      seen.push({ method, url, headers: rawHeaders });
    const server = http.createServer((req, res) => {
      note(req);
      res.setHeader('Content-Type', 'text/html');
      res.end('<!doctype html><title>inside</title><link rel="icon" href="data:,"><p>inside</p>');
    });
    server.on('upgrade', (req, socket) => {
      note(req);
      const key = `${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash('sha1').update(key).digest('base64');
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      socket.write(Buffer.from([0x81, 2, ...Buffer.from('hi')]));
      socket.on('error', () => {});
    });
    closing.push(() => {
      server.close();
      server.closeAllConnections();
    });
    return { port: await listen(server), seen };
  }

  async function newPage(options: { ignoreHTTPSErrors?: boolean } = {}): Promise<Page> {
    const context = await opened.browser.newContext(options);
    onTestFinished(() => context.close());
    return context.newPage();
  }

  const signed = { expiresInMs: 600_000, path: '/app?a=1' };

  it('open a page, its scripts and its WebSockets in a browser, which keeps no link', async () => {
    const { port, seen } = await serve();
    const page = await newPage();
    const link = await closed.url(port, { signed });
    const answer = await page.goto(link);
    expect([answer?.status(), await page.title()]).toEqual([200, 'inside']);
    expect(page.url()).toBe(`${closed.url(port)}/app?a=1`);
    expect(await page.evaluate('document.cookie + document.referrer')).toBe('');
    expect(await page.evaluate(`(${TRY})(location.href)`)).toBe('hi');
    await page.reload();
    expect(await page.title()).toBe('inside');
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /app?a=1',
      'GET /app?a=1',
      'POST /app?a=1?by=fetch',
      'GET /app?a=1',
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/svc_preview|v1\./);
    const stranger = await newPage();
    expect((await stranger.goto(closed.url(port)))?.status()).toBe(403);
    expect(await stranger.textContent('body')).toContain('open a link that has not expired');
  });

  it('open nothing to the page of another sandbox, though the browser adds the cookie', async () => {
    const [victim, hostile] = [await serve(), await serve()];
    const page = await newPage();
    await page.goto(await closed.url(victim.port, { signed }));
    victim.seen.length = 0;
    await page.goto(neighbour.url(hostile.port));
    expect(await page.title()).toBe('inside');
    // The hostile page plants cookies of its own for the whole domain, too.
    await page.evaluate(`document.cookie = 'svc_preview=planted; domain=svc.localhost; path=/'`);
    const victimUrl = closed.url(victim.port);
    expect(await page.evaluate(`(${TRY})('${victimUrl}/')`)).toBe('refused');
    expect(victim.seen).toEqual([]);
    // It may link to it, as every page may.
    await page.evaluate(`location.href = '${victimUrl}/linked'`);
    await page.waitForURL(`${victimUrl}/linked`);
    expect(await page.title()).toBe('inside');
    expect(victim.seen.map(({ url }) => url)).toEqual(['/linked']);
    expect(JSON.stringify(victim.seen)).not.toContain('planted');
  });

  it('open in a frame of an application of another origin, over TLS, without cookies for third parties', async () => {
    const { port, seen } = await serve();
    const front = await tlsFront(fixture.server.sandboxUrl);
    await opened.reach(front.port);
    const sandbox = await fixture
      .client({ sandboxUrl: `https://localhost:${front.port}` })
      .sandboxes.get(closed.id);
    const link = await sandbox.url(port, { signed });
    expect(link).toMatch(/^https:/);
    const page = await newPage({ ignoreHTTPSErrors: true });
    front.application = `<!doctype html><title>app</title><iframe src="${link.replace('&', '&amp;')}"></iframe>`;
    await page.goto(`https://app.elsewhere.localhost:${front.port}/application`);
    const frame = page.frames().find((each) => each.parentFrame() !== null);
    await frame?.waitForSelector('p');
    expect(frame?.url()).toBe(`${sandbox.url(port)}/app?a=1`);
    expect(await frame?.evaluate(`(${TRY})(location.href)`)).toBe('hi');
    expect(JSON.stringify(seen)).not.toContain('svc_preview');
    const cookies = await page.context().cookies(link);
    expect(cookies).toMatchObject([
      { name: '__Host-svc_preview', secure: true, httpOnly: true, sameSite: 'None' },
    ]);
  });

  /** A reverse proxy with TLS, as stands in front of a server, and an application of another site beside it. */
  async function tlsFront(target: string): Promise<{ port: number; application: string }> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-front-'));
    const subject = ['-subj', '/CN=front', '-days', '2'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem'];
    execFileSync('openssl', ['req', '-x509', ...key, '-out', 'cert.pem', ...subject], {
      cwd: directory,
      stdio: 'pipe',
    });
    const tls = {
      key: await readFile(join(directory, 'key.pem')),
      cert: await readFile(join(directory, 'cert.pem')),
    };
    await rm(directory, { recursive: true });
    const { hostname, port } = new URL(target);
    const sockets = new Set<Duplex>();
    const front = { port: 0, application: '' };
    const server = https.createServer(tls, (req, res) => {
      if (req.url === '/application')
        return res.setHeader('Content-Type', 'text/html').end(front.application);
      const headers = { ...req.headers, 'x-forwarded-proto': 'https' };
      const onward = http.request({
        hostname,
        port,
        method: req.method,
        path: req.url,
        headers,
        agent: false,
      });
      onward.on('response', (up) => {
        res.writeHead(up.statusCode ?? 502, up.rawHeaders);
        up.pipe(res);
      });
      onward.on('error', () => res.destroy());
      req.pipe(onward);
    });
    server.on('upgrade', (req, near, head) => {
      const far = connect(Number(port), hostname);
      const lines = [];
      for (let at = 0; at < req.rawHeaders.length; at += 2)
        lines.push(`${req.rawHeaders[at]}: ${req.rawHeaders[at + 1]}\r\n`);
      far.write(`GET ${req.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
      far.write(head);
      far.on('error', () => near.destroy());
      near.on('error', () => far.destroy());
      near.pipe(far).pipe(near);
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    closing.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    front.port = await listen(server);
    return front;
  }
};

async function listen(server: http.Server | https.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

if (chromium === undefined) it.skip('preview links in a browser: there is no Chromium on this machine');
else describeOnServer('preview links', suite, ['process']);

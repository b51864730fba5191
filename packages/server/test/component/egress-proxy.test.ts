import { type FakeInternet, PROXY_USER, type Seen, WORLD } from '@svc/runtime/testing';
import { eventually } from '@svc/support/eventually';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type InternetServer,
  lacksInternetServer,
  startInternetServer,
  statusInside,
} from '../support/internet-server.js';
import { createSandbox, run } from '../support/sandboxes.js';
import type { TestServer } from '../support/server.js';

const hindrance = await lacksInternetServer();
if (hindrance !== undefined) console.warn(`Egress proxies through the server: skipped, ${hindrance}`);

const PLAIN = { address: `${WORLD.proxy}:1080`, ...PROXY_USER };
const ONLY_ONE = { denyOut: ['0.0.0.0/0'], allowOut: ['one.test'] };

type Made = Awaited<ReturnType<typeof createSandbox>>;

describe.skipIf(hindrance !== undefined)('sandboxes of a server', { timeout: 120_000 }, () => {
  let started: InternetServer;
  let internet: FakeInternet;
  let test: TestServer;
  let secured: object;

  beforeAll(async () => {
    started = await startInternetServer();
    ({ internet, test } = started);
    secured = {
      address: `${WORLD.proxy}:1081`,
      ...PROXY_USER,
      tls: { enabled: true, serverName: 'proxy.test', caCert: internet.ca },
    };
    await setFlag(true);
  });
  beforeEach(() => internet.forget());
  afterAll(() => started?.close(), 60_000);

  /** Switches proxies on or off for the team of the test, as an operator does. */
  async function setFlag(egressProxy: boolean): Promise<void> {
    const team = (await test.api('GET', '/team')).body.teamID as string;
    const { response } = await started.operator.PATCH('/teams/{team}', {
      params: { path: { team } },
      body: { features: { egressProxy } },
    });
    expect(response.status).toBe(200);
  }

  const put = async (made: Made, network: object) =>
    expect((await test.api('PUT', `/sandboxes/${made.id}/network`, network)).status).toBe(204);

  /** The answer to a request, and the traffic that the world saw of it, without names. */
  async function ask(made: Made, url: string): Promise<{ status: string; seen: Partial<Seen>[] }> {
    internet.forget();
    const status = await statusInside(test, made, url);
    const seen = internet.seen.filter(({ server }) => server !== 'dns');
    return {
      status,
      seen: seen.map(({ server, host, port, named, encrypted, from }) =>
        server === 'socks' ? { server, host, port, named, encrypted } : { server, from },
      ),
    };
  }

  /** The answer of one that came through a proxy, which asked for a host. */
  const through = (host: string, { named = true, encrypted = false } = {}) => ({
    status: '200',
    seen: [
      { server: 'socks', host, port: 80, named, encrypted },
      // From the proxy's own machine, not from the host of the sandboxes.
      { server: 'http', from: host === WORLD.two ? WORLD.two : WORLD.one },
    ],
  });
  const NOTHING = { status: 'no', seen: [] };

  async function fork(made: Made): Promise<Made> {
    const { status, body } = await test.api('POST', `/sandboxes/${made.id}/fork`, { timeout: 120 });
    expect(status).toBe(201);
    const { sandboxID: id, envdAccessToken: token } = body[0].sandbox;
    return { id, token };
  }

  async function sleepAndWake(made: Made): Promise<void> {
    expect((await test.api('POST', `/sandboxes/${made.id}/pause`)).status).toBe(204);
    expect((await test.api('POST', `/sandboxes/${made.id}/resume`, { timeout: 120 })).status).toBe(201);
  }

  describe('with an egress proxy', () => {
    it('go out through it alone, by name where a name was allowed', async () => {
      const made = await createSandbox(test, { network: { ...ONLY_ONE, egressProxy: PLAIN } });
      expect(await ask(made, 'http://one.test/')).toEqual(through('one.test'));
      expect(internet.seen.filter(({ server }) => server === 'dns').length).toBeGreaterThan(0);
      // Its filter comes first: what is denied never reaches the proxy.
      expect(await ask(made, 'http://two.test/')).toEqual(NOTHING);
      expect(await ask(made, `http://${WORLD.two}/`)).toEqual(NOTHING);
      // Without a list nothing was allowed by its name, so the address is asked for that the sandbox chose.
      await put(made, { egressProxy: PLAIN });
      expect(await ask(made, `http://${WORLD.two}/`)).toEqual(through(WORLD.two, { named: false }));
      expect(await ask(made, 'http://10.1.2.3/')).toEqual(NOTHING);
    });

    it('speak TLS to it, and to nobody whose certificate is not its', async () => {
      const made = await createSandbox(test, { network: { ...ONLY_ONE, egressProxy: secured } });
      expect(await ask(made, 'http://one.test/')).toEqual(through('one.test', { encrypted: true }));
      for (const tls of [
        { enabled: true, serverName: 'another.example', caCert: internet.ca },
        { enabled: true, serverName: 'proxy.test' },
      ]) {
        await put(made, { ...ONLY_ONE, egressProxy: { ...secured, tls } });
        expect(await ask(made, 'http://one.test/')).toEqual(NOTHING);
      }
    });

    it('follow another one at once, open connections too, and never go past one that fails', async () => {
      const made = await createSandbox(test, { network: { ...ONLY_ONE, egressProxy: PLAIN } });
      const held = run(test, made, 'curl -s -m 60 -N http://one.test/slow || echo ended');
      await eventually('the held request', () => internet.seen.some(({ url }) => url === '/slow'));
      await put(made, { ...ONLY_ONE, egressProxy: secured });
      expect(await held).toBe('begin\nended\n');
      expect(await ask(made, 'http://one.test/')).toEqual(through('one.test', { encrypted: true }));
      for (const egressProxy of [
        { ...PLAIN, password: 'wrong' },
        { address: PLAIN.address },
        // Nobody listens there, and what listens here speaks another language.
        { ...PLAIN, address: `${WORLD.proxy}:1082` },
        { ...PLAIN, address: `${WORLD.two}:80` },
      ]) {
        await put(made, { ...ONLY_ONE, egressProxy });
        expect(await ask(made, 'http://one.test/')).toEqual(NOTHING);
      }
      // Omitted settings are cleared.
      await put(made, ONLY_ONE);
      const { status, seen } = await ask(made, 'http://one.test/');
      expect({ status, servers: seen.map(({ server }) => server) }).toEqual({
        status: '200',
        servers: ['http'],
      });
    });

    it('keep it after a pause, and give it to forks with its password', async () => {
      const made = await createSandbox(test, { network: { ...ONLY_ONE, egressProxy: secured } });
      const copy = await fork(made);
      await sleepAndWake(made);
      for (const each of [made, copy])
        expect(await ask(each, 'http://one.test/')).toEqual(through('one.test', { encrypted: true }));
      const { body } = await test.api('GET', `/sandboxes/${made.id}`);
      expect(JSON.stringify(body)).not.toContain(PROXY_USER.password);
      // Each has its own from then on.
      await put(copy, { ...ONLY_ONE, egressProxy: PLAIN });
      expect(await ask(made, 'http://one.test/')).toEqual(through('one.test', { encrypted: true }));
      expect(await ask(copy, 'http://one.test/')).toEqual(through('one.test'));
      await test.api('DELETE', `/sandboxes/${copy.id}`);
    });

    it('exist where the operator allowed it to the team, and the proxy is on the public internet', async () => {
      const create = (egressProxy: object) =>
        test.api('POST', '/v2/sandboxes', { templateID: 'base', network: { egressProxy } });
      for (const address of ['10.1.2.3:1080', '127.0.0.1:1080', '169.254.169.254:80', '198.51.100.53:53'])
        expect((await create({ address })).status, address).toBe(400);
      await setFlag(false);
      try {
        const { status, body } = await create(PLAIN);
        expect(status).toBe(403);
        expect(body.message).toContain('network.egressProxy');
      } finally {
        await setFlag(true);
      }
      const made = await createSandbox(test, { network: { egressProxy: PLAIN } });
      expect(await ask(made, 'http://one.test/')).toMatchObject({ status: '200' });
    });
  });

  describe('with ports that speak TLS', () => {
    /** Serves, with a certificate that nobody signed, what it was asked and whether by TLS. */
    const SERVER = `
      const answer = (request, response) => response.end(Boolean(request.socket.encrypted) + " " + request.url);
      const fs = require("fs");
      require("https").createServer({ key: fs.readFileSync("/tmp/k"), cert: fs.readFileSync("/tmp/c") }, answer).listen(8443);
      require("http").createServer(answer).listen(8080);`;

    async function serve(made: Made): Promise<void> {
      await run(
        test,
        made,
        `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /tmp/k -out /tmp/c -days 2 -subj /CN=x 2>/dev/null
        (setsid node -e '${SERVER}' > /dev/null 2>&1 &)
        for i in $(seq 200); do curl -sk https://127.0.0.1:8443/ > /dev/null && curl -s http://127.0.0.1:8080/ > /dev/null && exit; sleep 0.1; done`,
      );
    }

    /** Requests a port from outside, without TLS. */
    async function visit({ id }: Made, port: number): Promise<{ status: number; body: string }> {
      const response = await fetch(`${test.server.sandboxUrl}/a?b`, {
        headers: { 'Svc-Sandbox-Id': id, 'Svc-Sandbox-Port': String(port) },
      });
      return { status: response.status, body: await response.text() };
    }

    it('are spoken to by TLS on those alone, after a pause and in forks too', async () => {
      const made = await createSandbox(test, { network: { httpsPorts: [8443] } });
      await serve(made);
      const answers = async (each: Made) => [await visit(each, 8443), await visit(each, 8080)];
      const expected = [
        { status: 200, body: 'true /a?b' },
        { status: 200, body: 'false /a?b' },
      ];
      expect(await answers(made)).toEqual(expected);
      const copy = await fork(made);
      await sleepAndWake(made);
      for (const each of [made, copy]) expect(await answers(each)).toEqual(expected);
      // A change of the way out leaves the way in as it is.
      await put(made, ONLY_ONE);
      expect(await answers(made)).toEqual(expected);
      await test.api('DELETE', `/sandboxes/${copy.id}`);
    });

    it('answer 502 where no TLS is spoken, as a port does on which nobody listens', async () => {
      const made = await createSandbox(test, { network: { httpsPorts: [8080, 9] } });
      await serve(made);
      for (const port of [8080, 9]) expect((await visit(made, port)).status).toBe(502);
    });
  });
});

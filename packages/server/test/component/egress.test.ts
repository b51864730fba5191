import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime';
import { type PlayedInternet, playInternet, WORLD } from '@svc/runtime/testing';
import { eventually } from '@svc/support/eventually';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findHindrance, findServiceUser } from '../../src/separate/service-user.js';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { createSandbox, run } from '../support/sandboxes.js';
import type { ApiAnswer, TestServer } from '../support/server.js';

const root = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost());
const hindrance = root
  ? await findHindrance(await findServiceUser(), tmpdir())
  : 'the linux driver needs root';
if (hindrance !== undefined) console.warn(`Egress through the server: skipped, ${hindrance}`);

const SECRET = 'value-that-no-sandbox-may-ever-see';
/** What the search of memory has to find, to prove that it finds anything. */
const MARKER = 'marker-in-the-memory-of-a-program';
const KEY = '${svc.secrets.api-key}';
const CLOSED = { denyOut: ['0.0.0.0/0'] };
const ONLY_ONE = { ...CLOSED, allowOut: ['one.test'] };
const WITH_KEY = {
  ...ONLY_ONE,
  rules: {
    'one.test': [
      { transform: { headers: { Authorization: `Bearer ${KEY}`, 'X-Id': '${svc.identity.tokens.cloud}' } } },
    ],
  },
};

/** The whole server, two processes, where the only internet is a played one. */
describe.skipIf(hindrance !== undefined)('what leaves sandboxes of a server', { timeout: 120_000 }, () => {
  let internet: PlayedInternet;
  let directory: string;
  let dataDir: string;
  let server: ChildServer;
  let test: TestServer;

  beforeAll(async () => {
    internet = await playInternet();
    directory = await mkdtemp(path.join(tmpdir(), 'egress-'));
    await chmod(directory, 0o711);
    dataDir = path.join(directory, 'data');
    const roots = path.join(directory, 'roots.pem');
    await writeFile(roots, internet.ca);
    const config = path.join(directory, 'config.yaml');
    await writeFile(config, JSON.stringify({ egress: { dns: [WORLD.resolver], trustedRoots: roots } }));
    server = await startChildServer(
      { ...childEnvironment(dataDir, 'linux'), SVC_CONFIG: config, SVC_POOL_SIZE: '1' },
      { within: internet.inside([]) },
    );
    const reach = async (url: string) =>
      `http://127.0.0.1:${await internet.forward(Number(new URL(url).port))}`;
    const [apiUrl, sandboxUrl] = await Promise.all([reach(server.apiUrl), reach(server.sandboxUrl)]);
    const { apiKey } = JSON.parse(readFileSync(path.join(dataDir, 'server/credentials.json'), 'utf8'));
    const api = async (method: string, target: string, body?: unknown): Promise<ApiAnswer> => {
      const answer = await fetch(`${apiUrl}${target}`, {
        method,
        headers: {
          'X-API-Key': apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return {
        status: answer.status,
        headers: answer.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
    };
    test = { server: { apiUrl, sandboxUrl, apiKey }, dataDir, api } as unknown as TestServer;
    expect((await api('POST', '/secrets', { name: 'api-key', value: SECRET })).status).toBe(201);
  }, 120_000);
  beforeEach(() => internet.forget());
  afterAll(async () => {
    await server?.stop();
    await internet?.close();
    await rm(directory, { recursive: true, force: true });
  }, 60_000);

  type Made = Awaited<ReturnType<typeof createSandbox>>;
  /** Status of a request from inside, or `no`. */
  const get = async (made: Made, url: string) => {
    const output = await run(test, made, `curl -s -m 10 -o /dev/null -w '%{http_code}' '${url}' || echo no`);
    return output.trim().replace(/^000no$/, 'no');
  };
  const put = (made: Made, body: object) => test.api('PUT', `/sandboxes/${made.id}/network`, body);

  it('is what the settings say, and follows them on a running sandbox at once', async () => {
    const made = await createSandbox(test, { network: ONLY_ONE });
    expect(await get(made, 'http://one.test/')).toBe('200');
    expect(await get(made, 'http://two.test/')).toBe('no');
    expect(await get(made, `http://${WORLD.two}/`)).toBe('no');
    expect((await put(made, { ...CLOSED, allowOut: ['two.test'] })).status).toBe(204);
    expect(await get(made, 'http://one.test/')).toBe('no');
    expect(await get(made, 'http://two.test/')).toBe('200');
    expect((await put(made, {})).status).toBe(204);
    expect(await get(made, 'http://one.test/')).toBe('200');
    expect((await put(made, { allow_internet_access: false })).status).toBe(204);
    expect(await get(made, 'http://one.test/')).toBe('no');
    expect((await put(made, { denyOut: [`${WORLD.one}/32`] })).status).toBe(204);
    expect(await get(made, 'http://one.test/')).toBe('no');
    expect(await get(made, `http://${WORLD.two}/`)).toBe('200');
  });

  it('resolves names for sandboxes without any settings', async () => {
    const made = await createSandbox(test);
    expect(await get(made, 'http://one.test/')).toBe('200');
  });

  it('stays after a pause and goes along into forks, which start with it in force', async () => {
    const made = await createSandbox(test, { network: ONLY_ONE });
    const { body } = await test.api('POST', `/sandboxes/${made.id}/fork`, { timeout: 120 });
    const fork = {
      id: body[0].sandbox.sandboxID as string,
      token: body[0].sandbox.envdAccessToken as string,
    };
    expect((await test.api('POST', `/sandboxes/${made.id}/pause`)).status).toBe(204);
    expect((await test.api('POST', `/sandboxes/${made.id}/resume`, { timeout: 120 })).status).toBe(201);
    for (const each of [made, fork]) {
      expect(await get(each, 'http://one.test/')).toBe('200');
      expect(await get(each, `http://${WORLD.two}/`)).toBe('no');
    }
    await test.api('DELETE', `/sandboxes/${fork.id}`);
  });

  it('is told: counted by destination, and what was denied in the log of the sandbox', async () => {
    const made = await createSandbox(test, { network: ONLY_ONE });
    expect(await get(made, 'http://one.test/')).toBe('200');
    expect(await get(made, `http://${WORLD.two}/`)).toBe('no');
    const seen = await eventually('both destinations', async () => {
      const { body } = await test.api('GET', `/sandboxes/${made.id}/egress`);
      return body.totals.allowed > 0 && body.totals.denied > 0 && body.totals.bytesReceived > 0
        ? body
        : undefined;
    });
    expect(seen.destinations).toContainEqual(
      expect.objectContaining({ host: 'one.test', port: 80, rule: 'allowOut[0] one.test' }),
    );
    const logged = await eventually('the log line', async () => {
      const { body } = await test.api('GET', `/v2/sandboxes/${made.id}/logs?level=warn`);
      return body.logs.find((line: { message: string }) => line.message.includes(WORLD.two));
    });
    expect(logged).toMatchObject({
      level: 'warn',
      fields: { source: 'egress', rule: 'denyOut[0] 0.0.0.0/0', port: '80' },
    });
  });

  it('carries a secret that is in no file, variable or memory of the sandbox', {
    timeout: 900_000,
  }, async () => {
    await writeFile(path.join(internet.files, 'paid'), 'the answer');
    const iam = { tokens: { cloud: { audience: 'https://cloud.test', tokenType: 'JWT-SVID' } } };
    const made = await createSandbox(test, { network: WITH_KEY, iam });
    // A program that goes on, and whose memory holds something to find.
    await run(test, made, `sh -c 'marker="${MARKER}"; while :; do sleep 1; done' > /dev/null 2>&1 &`);
    for (const client of [
      'curl -sS -m 20 https://one.test/files/paid',
      `python3 -c "import urllib.request as u; print(u.urlopen('https://one.test/files/paid', timeout=20).read().decode())"`,
    ]) {
      internet.forget();
      expect((await run(test, made, `${client} 2>&1`)).trim()).toBe('the answer');
      const [request] = internet.seen.filter(({ server }) => server === 'https');
      const headers = request?.headers as Record<string, string>;
      expect(headers.authorization).toBe(`Bearer ${SECRET}`);
      expect(decodeJwt(headers['x-id']!)).toMatchObject({
        aud: ['https://cloud.test'],
        sub: expect.stringMatching(new RegExp(`/sandbox/${made.id}$`)),
      });
    }
    // The search itself must leave no trace of what it looks for: halves, joined in a file that goes again.
    const search = (text: string) =>
      run(
        test,
        made,
        `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline > /dev/shm/all 2>/dev/null; printf '%s%s' '${text.slice(0, 9)}' '${text.slice(9)}' > /dev/shm/what; grep -caFf /dev/shm/what /dev/shm/all; grep -rlasFf /dev/shm/what /etc /home /root /tmp /var /usr/local | wc -l; rm /dev/shm/what /dev/shm/all`,
        'root',
      );
    expect((await search(MARKER)).split('\n')[0]).toBe('1');
    expect((await search(SECRET)).split('\n').slice(0, 2)).toEqual(['0', '0']);
    // Reads the whole store, gigabytes: behind a switch.
    if (process.env.SVC_HEAVY !== '1') return;
    expect((await test.api('POST', `/sandboxes/${made.id}/pause`)).status).toBe(204);
    expect(await holds(dataDir, MARKER)).toBe(true);
    expect(await holds(dataDir, SECRET)).toBe(false);
  });

  it('fails closed for a secret that was revoked', async () => {
    await test.api('POST', '/secrets', { name: 'passing', value: 'x' });
    const rules = { 'one.test': [{ transform: { headers: { A: '${svc.secrets.passing}' } } }] };
    const made = await createSandbox(test, { network: { ...ONLY_ONE, rules } });
    expect(await get(made, 'https://one.test/')).toBe('200');
    await test.api('DELETE', '/secrets/passing');
    internet.forget();
    expect(await get(made, 'https://one.test/')).toBe('502');
    expect(internet.seen.filter(({ server }) => server === 'https')).toEqual([]);
  });
});

/** Whether a file below a directory holds a text, whatever kind of file. */
async function holds(directory: string, text: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    'grep -raqsF -e "$1" "$0" && echo yes || echo no',
    directory,
    text,
  ]);
  return stdout.trim() === 'yes';
}

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type FakeInternet, WORLD } from '@svc/runtime/testing';
import { eventually } from '@svc/support/eventually';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { egressProcesses } from '../egress/egress-processes.js';
import { capturePackets } from '../egress/packet-capture.js';
import {
  type InternetServer,
  lacksInternetServer,
  startInternetServer,
  statusInside,
} from '../support/internet-server.js';
import { createSandbox, run } from '../support/sandboxes.js';
import type { TestServer } from '../support/server.js';

const hindrance = await lacksInternetServer();
if (hindrance !== undefined) console.warn(`Egress through the server: skipped, ${hindrance}`);

const SECRET = 'value-that-no-sandbox-may-ever-see';
/** The text that the search of memory has to find, to prove that it finds anything. */
const MARKER = 'marker-in-the-memory-of-a-program';
const KEY = '${svc.secrets.api-key}';
const IDENTITY = { tokens: { cloud: { audience: 'https://cloud.test', tokenType: 'JWT-SVID' } } };
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

describe.skipIf(hindrance !== undefined)('what leaves sandboxes of a server', { timeout: 120_000 }, () => {
  let started: InternetServer;
  let internet: FakeInternet;
  let test: TestServer;

  beforeAll(async () => {
    started = await startInternetServer();
    ({ internet, test } = started);
    expect((await test.api('POST', '/secrets', { name: 'api-key', value: SECRET })).status).toBe(201);
  });
  beforeEach(() => internet.forget());
  afterAll(() => started?.close(), 60_000);

  type Made = Awaited<ReturnType<typeof createSandbox>>;
  const get = (made: Made, url: string) => statusInside(test, made, url);
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

  it('counts what is forwarded by addresses alone, and keeps to changes of them', async () => {
    const made = await createSandbox(test, { network: { ...CLOSED, allowOut: [`${WORLD.one}/32`] } });
    const url = `http://${WORLD.one}:8080/`;
    expect(await get(made, url)).toBe('200');
    const counted = await eventually('what was forwarded', async () => {
      const { body } = await test.api('GET', `/sandboxes/${made.id}/egress`);
      return body.destinations.find(({ address }: { address?: string }) => address === WORLD.one);
    });
    expect(counted).toMatchObject({ port: 8080, allowed: 1, denied: 0, rule: `allowOut[0] ${WORLD.one}/32` });
    expect(Math.min(counted.bytesSent, counted.bytesReceived)).toBeGreaterThan(100);
    expect((await test.api('POST', `/sandboxes/${made.id}/pause`)).status).toBe(204);
    expect((await test.api('POST', `/sandboxes/${made.id}/resume`, { timeout: 120 })).status).toBe(201);
    expect(await get(made, url)).toBe('200');
    expect((await put(made, { ...CLOSED, allowOut: [WORLD.two] })).status).toBe(204);
    expect(await get(made, url)).toBe('no');
    expect(await get(made, `http://${WORLD.two}:8080/`)).toBe('200');
  });

  it('is counted for the team whichever way it goes, and ends with the limit of the month, until that is raised', async () => {
    const params = { path: { team: 'default' } };
    const setLimit = async (maxEgressMonthMB: number | null) => {
      const body = { limits: { maxEgressMonthMB } };
      const { response } = await started.operator.PATCH('/teams/{team}', { params, body });
      expect(response.status).toBe(200);
    };
    const sentBytes = async () => {
      // Has the server look at its driver.
      await test.api('GET', `/sandboxes/${ways[0]![0].id}/egress`);
      const { data } = await started.operator.GET('/teams/{team}/usage', { params });
      return data!.hours.reduce((sum, { egressBytes }) => sum + egressBytes, 0);
    };
    const byKernel = `http://${WORLD.one}:8080/`;
    const ways: [Made, string][] = [
      [await createSandbox(test), byKernel],
      [await createSandbox(test, { network: { ...CLOSED, allowOut: [`${WORLD.one}/32`] } }), byKernel],
      [await createSandbox(test, { network: ONLY_ONE }), 'http://one.test/'],
    ];
    for (const [made, url] of ways) {
      const before = await sentBytes();
      const upload = `head -c 2000000 /dev/zero | curl -sf -m 60 -o /dev/null -H 'Expect:' --data-binary @- ${url} && echo done`;
      expect(await run(test, made, upload)).toBe('done\n');
      const sent = await eventually('what was sent', async () => {
        const since = (await sentBytes()) - before;
        return since >= 2_000_000 ? since : undefined;
      });
      expect(sent).toBeLessThan(2_600_000);
    }
    await setLimit(5);
    for (const [made, url] of ways) expect(await get(made, url), url).toBe('no');
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).status).toBe(429);
    await setLimit(null);
    for (const [made, url] of ways) expect(await get(made, url), url).toBe('200');
    expect(await get(ways[1]![0], `http://${WORLD.two}/`)).toBe('no');
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

  it('is reported: counted by destination, and denials in the log of the sandbox', async () => {
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
    // Where nobody may go, whatever the settings say, is told of too.
    expect(await get(made, 'http://10.1.2.3/')).toBe('no');
    await eventually('the log line of a private address', async () => {
      const { body } = await test.api('GET', `/v2/sandboxes/${made.id}/logs?level=warn`);
      return body.logs.find(({ message }: { message: string }) =>
        message.includes('private range 10.0.0.0/8'),
      );
    });
    expect(logged).toMatchObject({
      level: 'warn',
      fields: { source: 'egress', rule: 'denyOut[0] 0.0.0.0/0', port: '80' },
    });
    expect(seen.destinations.filter(({ address }: { address?: string }) => address === undefined)).toEqual(
      [],
    );
    await run(test, made, `bash -c 'for a in ${WORLD.one} ${WORLD.two}; do echo x > /dev/udp/$a/9; done'`);
    await eventually('what the kernel refused', async () => {
      const { body } = await test.api('GET', `/sandboxes/${made.id}/egress`);
      return body.destinations.find(
        ({ rule, port, denied }: { rule: string; port: number; denied: number }) =>
          rule === 'not TCP' && port === 0 && denied === 2,
      );
    });
    await eventually('the log line of what the kernel refused', async () => {
      const { body } = await test.api('GET', `/v2/sandboxes/${made.id}/logs?level=warn`);
      return body.logs.find(({ message }: { message: string }) =>
        message.startsWith('egress denied: packets refused: not TCP'),
      );
    });
  });

  it('carries a secret that is in no file, variable or memory of the sandbox', {
    timeout: 900_000,
  }, async () => {
    await writeFile(path.join(internet.files, 'paid'), 'the answer');
    const made = await createSandbox(test, { network: WITH_KEY, iam: IDENTITY });
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
    expect(await holds(started.dataDir, MARKER)).toBe(true);
    expect(await holds(started.dataDir, SECRET)).toBe(false);
  });

  it('carries a secret that no packet shows, neither on the side of the sandbox nor on that of the internet', async () => {
    const made = await createSandbox(test, { network: WITH_KEY, iam: IDENTITY });
    const [egress] = egressProcesses(started.pid);
    const capture = await capturePackets(egress!, path.join(internet.directory, 'packets'));
    onTestFinished(() => capture.stop());
    // A program reads and writes the plain text of TLS; the trace shows it.
    const trace = await run(test, made, `curl -sS -m 20 --trace-ascii - https://one.test/files/none 2>&1`);
    expect(trace).toContain('HTTP/1.1 404');
    expect(trace).not.toContain(SECRET);
    const [request] = internet.seen.filter(({ server }) => server === 'https');
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${SECRET}` });
    // Over plain HTTP the capture has to find what the program says, and no key is added.
    expect((await run(test, made, `curl -sS -m 20 http://one.test/${MARKER}`)).length).toBeGreaterThan(0);
    const packets = await eventually('the packets', async () => {
      const seen = await capture.packets();
      return seen.includes(`GET /${MARKER}`) ? seen : undefined;
    });
    expect(packets.includes('uplink ')).toBe(true);
    expect(packets.includes(SECRET)).toBe(false);
    expect(packets.includes(SECRET.slice(8, 24))).toBe(false);
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

/** Returns whether any file below a directory holds a text. */
async function holds(directory: string, text: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    'grep -raqsF -e "$1" "$0" && echo yes || echo no',
    directory,
    text,
  ]);
  return stdout.trim() === 'yes';
}

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { configOf } from '../../src/sandboxes/state/config.js';
import { toJson } from '../../src/storage/json.js';
import { childEnvironment, startChildServer } from '../support/child-server.js';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer } from '../support/server.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
if (!able) console.warn('The server on the linux driver: skipped, this host cannot run it');

/** Rounds of the leak check. */
const CYCLES = Number(process.env.SVC_LEAK_CYCLES ?? 10);
const ROUNDS = 3;
const KNOCKS = 400;

/** Finds the resources of a data directory on the host: processes that name it, and mounts. */
async function traces(dataDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(dataDir)) found.push(`process ${command.replaceAll('\0', ' ').slice(0, 120)}`);
  }
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  for (const line of mounts.split('\n'))
    if (line.includes(dataDir)) found.push(`mount ${line.split(' ')[4]}`);
  return found;
}

/** The driver's interface on the host. */
const vethOf = (dataDir: string) =>
  `svc${createHash('sha256').update(path.join(dataDir, 'driver')).digest('hex').slice(0, 8)}`;

/** The links of the driver's gateway: one to the host, and one to each sandbox. Those of the host are everybody's. */
async function gatewayLinks(dataDir: string): Promise<string[]> {
  const { pid } = JSON.parse(await readFile(path.join(dataDir, 'driver/keeper.json'), 'utf8')) as {
    pid: number;
  };
  const list = ['-t', String(pid), '-m', 'ip', '-n', 'gw', '-o', 'link', 'show', 'type', 'veth'];
  const { stdout } = await promisify(execFile)('nsenter', list);
  return stdout.split('\n').filter(Boolean);
}

describe.skipIf(!able)('the server on the linux driver', () => {
  it('loses the way out of one sandbox alone when an earlier version stored settings that nobody can read', async () => {
    const test = await startTestServer({ driver: 'linux', poolSize: 0 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const network = { denyOut: ['203.0.112.0/24'] };
    const [bad, good] = [await createSandbox(test, { network }), await createSandbox(test, { network })];
    const { db } = test.server.context;
    const row = await db
      .selectFrom('sandboxes')
      .selectAll()
      .where('id', '=', bad.id)
      .executeTakeFirstOrThrow();
    const unreadable = { ...configOf(row), network: { denyOut: ['203.0.112.0/024'] } };
    await db
      .updateTable('sandboxes')
      .set({ config: toJson(unreadable) })
      .where('id', '=', bad.id)
      .execute();
    await test.restart();
    await eventually(
      'the egress process has heard of every sandbox',
      () => test.server.context.egress.connected,
    );
    // That its policy decides shows that the egress process has it.
    await run(test, good, 'curl -s -m 5 http://203.0.112.7/ || true');
    await eventually('what was denied is counted', async () => {
      const { body } = await test.api('GET', `/sandboxes/${good.id}/egress`);
      return JSON.stringify(body.destinations).includes('denyOut[0] 203.0.112.0/24');
    });
    const { problems } = await (await fetch(`${test.server.operatorUrl}/status`)).json();
    expect(problems).toEqual([expect.stringContaining(`sandbox ${bad.id} sends nothing: network.denyOut`)]);
    const fork = () => test.api('POST', `/sandboxes/${bad.id}/fork`, {});
    const message = expect.stringMatching(
      /^replace the network settings first: network\.denyOut: .* write '203/,
    );
    expect(await fork()).toMatchObject({ status: 400, body: { message } });
    expect((await test.api('PUT', `/sandboxes/${bad.id}/network`, network)).status).toBe(204);
    expect((await fork()).status).toBe(201);
  });

  it('keeps a sandbox without internet access off every network, and lets another have it', async () => {
    const test = await startTestServer({ driver: 'linux', poolSize: 1 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const closed = await createSandbox(test, { allow_internet_access: false });
    const open = await createSandbox(test);
    // Packets on the veth pair between this driver's sandboxes to the host; nobody has to answer them.
    const left = async () =>
      Number(await readFile(`/sys/class/net/${vethOf(test.dataDir)}/statistics/rx_packets`, 'utf8'));
    // The platform's own conversation with the daemon passes there too, so there is a lot of knocking.
    const knock = (sandbox: { id: string; token: string }) =>
      run(
        test,
        sandbox,
        `bash -c 'for i in {1..${KNOCKS}}; do echo hello > /dev/udp/1.1.1.1/9; done' 2>&1; echo done`,
      );
    const before = await left();
    expect(await knock(closed)).toContain('done');
    const between = await left();
    expect(await knock(open)).toBe('done\n');
    await eventually('packets of the open sandbox leave', async () => (await left()) >= between + KNOCKS);
    expect(between - before).toBeLessThan(KNOCKS / 2);
    // The platform reaches both.
    expect(await run(test, closed, 'echo inside')).toBe('inside\n');
  });

  it(`comes back ${ROUNDS} times from being killed during creates, runs and pauses`, async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-linux-survive-'));
    const env = {
      ...childEnvironment(dataDir, 'linux'),
      SVC_POOL_SIZE: '1',
    };
    let server = await startChildServer(env);
    const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'server/credentials.json'), 'utf8'));
    const api = (method: string, target: string, body?: object) =>
      fetch(`${server.apiUrl}${target}`, {
        method,
        signal: AbortSignal.timeout(120_000),
        headers: {
          'X-API-Key': apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const create = async () => {
      const answer = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 3600 });
      const { sandboxID: id, envdAccessToken: token } = (await answer.json()) as Record<string, string>;
      return { id: id!, token: token! };
    };
    const inside = (sandbox: { id: string; token: string }, command: string) =>
      run({ server: { sandboxUrl: server.sandboxUrl } } as never, sandbox, command);
    try {
      const kept = await create();
      await inside(kept, 'echo kept > /home/user/note');
      for (let round = 0; round < ROUNDS; round += 1) {
        const doomed = await create();
        const work = [
          create(),
          create(),
          inside(kept, 'sleep 5'),
          api('POST', `/sandboxes/${doomed.id}/pause`, { memory: false }),
        ];
        for (const each of work) each.catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 20 + round * 60));
        await server.kill();
        await Promise.allSettled(work);
        server = await startChildServer(env);
        expect(await inside(kept, 'cat /home/user/note')).toBe('kept\n');
        const listed = (await (await api('GET', '/v2/sandboxes')).json()) as {
          sandboxID: string;
          state: string;
        }[];
        expect(listed.map((sandbox) => sandbox.sandboxID)).toEqual(
          expect.arrayContaining([kept.id, doomed.id]),
        );
        for (const sandbox of listed) {
          const detail = (await (await api('GET', `/sandboxes/${sandbox.sandboxID}`)).json()) as {
            envdAccessToken: string;
          };
          const handle = { id: sandbox.sandboxID, token: detail.envdAccessToken };
          if (sandbox.state === 'paused')
            expect((await api('POST', `/v2/sandboxes/${handle.id}/connect`, {})).status).toBe(201);
          const answer = await inside(handle, 'echo alive').catch(async (cause: Error) => {
            const [now, events] = await Promise.all(
              [`/sandboxes/${handle.id}`, `/events/sandboxes/${handle.id}`].map(async (path) =>
                (await api('GET', path)).text(),
              ),
            );
            const was = [kept, doomed].findIndex(({ id }) => id === handle.id);
            const which = ['the kept one', 'the paused one'][was] ?? 'one that was being made';
            throw new Error(`round ${round}, ${which}, ${sandbox.state}: now ${now}; events ${events}`, {
              cause,
            });
          });
          expect(answer).toBe('alive\n');
          if (handle.id !== kept.id)
            expect((await api('DELETE', `/sandboxes/${handle.id}`)).status).toBe(204);
        }
      }
      expect((await api('DELETE', `/sandboxes/${kept.id}`)).status).toBe(204);
      await server.stop();
      await eventually('nothing is left of it', async () => (await traces(dataDir)).length === 0);
    } finally {
      await server.kill().catch(() => {});
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  it(`leaves nothing behind after ${CYCLES} rounds of create, run, pause, wake, kill`, async () => {
    const test = await startTestServer({ driver: 'linux', poolSize: 0 });
    const { dataDir } = test;
    try {
      const openFiles = async () => (await readdir('/proc/self/fd')).length;
      const round = async () => {
        const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
        const sandbox = { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
        expect(await run(test, sandbox, 'echo hi')).toBe('hi\n');
        expect((await test.api('POST', `/sandboxes/${sandbox.id}/pause`, { memory: false })).status).toBe(
          204,
        );
        expect((await test.api('POST', `/v2/sandboxes/${sandbox.id}/connect`, {})).status).toBe(201);
        expect((await test.api('DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
      };
      await round();
      await eventually(
        'the first round is cleaned up',
        async () => (await test.server.driver.list()).length === 0,
      );
      const filesBefore = await openFiles();
      for (let cycle = 0; cycle < CYCLES; cycle += 1) await round();
      expect(await test.server.driver.list()).toEqual([]);
      expect(await test.server.driver.listCheckpoints()).toEqual([]);
      expect(test.server.context.sandboxes.size).toBe(0);
      await eventually('network links are deleted', async () => (await gatewayLinks(dataDir)).length === 1);
      await eventually('files are closed', async () => (await openFiles()) <= filesBefore + 8);
    } finally {
      await test[Symbol.asyncDispose]();
    }
    await eventually(
      'processes have ended and mounts are removed',
      async () => (await traces(dataDir)).length === 0,
    );
    expect(existsSync(dataDir)).toBe(false);
  });
});

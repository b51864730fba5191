import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Driver, Instance, InstanceSpec } from '@svc/runtime/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { enforceEgressLimits } from '../../src/sandboxes/change/enforce-egress-limits.js';
import { monthOf } from '../../src/teams/quota/egress-month.js';
import { writeUsage } from '../../src/teams/usage/write-usage.js';
import { createMemoryDriver, type MemoryDriver } from '../support/memory-driver.js';
import { operate } from '../support/operate.js';
import { createSandbox } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { build, createTemplate, ended, start, status } from '../support/templates.js';

const MIB = 2 ** 20;
const DAY_MS = 86_400_000;

let test: TestServer;
let driver: MemoryDriver;
let directory: string;
/** Modes that were set, by instance, oldest first. */
const modes = new Map<string, string[]>();
/** Instances that were made, by id. */
const made: string[] = [];
/** The counts of the driver. */
const counted = new Map<string, number>();
/** The error of the next change of a mode. */
let failure: Error | undefined;

/** The driver, claiming to keep networks apart and to count what leaves. */
function isolating(behind: Driver): Driver {
  const watched = new WeakMap<Instance, Instance>();
  const watch = (instance: Instance): Instance => {
    const known = watched.get(instance);
    if (known !== undefined) return known;
    const made = new Proxy(instance, {
      get(target, name) {
        if (name === 'setNetwork')
          return async ({ egress }: { egress: string }) => {
            const error = failure;
            failure = undefined;
            if (error !== undefined) throw error;
            modes.set(target.id, [...(modes.get(target.id) ?? []), egress]);
          };
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    watched.set(instance, made);
    return made;
  };
  const reachable = (spec: InstanceSpec): InstanceSpec => ({ ...spec, network: { egress: 'internet' } });
  const own: Partial<Driver> = {
    capabilities: { ...behind.capabilities, networkIsolation: true, egressPolicy: true },
    create: async ({ spec, ...rest }) => {
      made.push(rest.id);
      return watch(await behind.create({ ...rest, spec: reachable(spec) }));
    },
    restore: async ({ spec, ...rest }) => watch(await behind.restore({ ...rest, spec: reachable(spec) })),
    sentBytes: async () => [...counted].map(([instanceId, bytes]) => ({ instanceId, bytes })),
  };
  return new Proxy(behind, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-egress-limit-'));
  driver = await createMemoryDriver(directory);
  test = await startTestServer({ driver: isolating(driver) });
});
afterAll(async () => {
  await test?.[Symbol.asyncDispose]();
  await driver?.close({ destroyInstances: true });
  await rm(directory, { recursive: true, force: true });
});

const setLimit = async (maxEgressMonthMB: number | null) => {
  const answer = await operate(test.server, 'PATCH', '/teams/default', { limits: { maxEgressMonthMB } });
  expect(answer.status).toBe(200);
  return answer.body;
};
/** Runs the work that the server does once a minute. */
const round = async () => {
  await writeUsage(test.server.context);
  await enforceEgressLimits(test.server.context);
};
const send = async (sandboxId: string, mib: number) => {
  const { context } = test.server;
  context.usage.sent(context.sandboxes.get(sandboxId)!.row.team_id, mib * MIB);
  await round();
};
const month = () => monthOf(test.server.context.now());
const nextMonth = async () => {
  test.advance(month().untilMs - test.server.context.now() + 1);
  await round();
};
const used = async () => (await operate(test.server, 'GET', '/teams/default/usage')).body.use.egressMonthMB;
const create = () => test.api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 86_400 });

describe('a month', () => {
  it('is one of the calendar, in UTC', () => {
    expect(monthOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999))).toEqual({
      ...{ name: '2026-12', fromMs: Date.UTC(2026, 11, 1), untilMs: Date.UTC(2027, 0, 1) },
    });
    expect(monthOf(Date.UTC(2027, 0, 1)).name).toBe('2027-01');
    expect(monthOf(Date.UTC(2028, 1, 29)).untilMs).toBe(Date.UTC(2028, 2, 1));
  });
});

describe('what a team sends in a month', () => {
  it('has no limit unless one is set', async () => {
    const { limits, ownLimits } = await setLimit(null);
    expect(limits).not.toHaveProperty('maxEgressMonthMB');
    expect(ownLimits).toEqual([]);
    const { id } = await createSandbox(test, { timeout: 86_400 });
    await send(id, 100);
    expect(await used()).toBe(100);
    expect(modes.get(id)).toBeUndefined();
    expect((await setLimit(1_000)).limits.maxEgressMonthMB).toBe(1_000);
    expect((await test.api('GET', '/team')).body.limits.maxEgressMonthMB).toBe(1_000);
    await round();
    expect(modes.get(id)).toBeUndefined();
  });

  it('once used up, starts nothing, keeps from sending what runs, and lets it again with a higher limit', async () => {
    await setLimit(200);
    const runs = await createSandbox(test, { timeout: 86_400 });
    const governed = await createSandbox(test, {
      ...{ timeout: 86_400, network: { allowOut: ['192.0.2.1'], denyOut: ['0.0.0.0/0'] } },
    });
    const paused = await createSandbox(test, { autoPause: true, autoResume: { enabled: true } });
    expect((await test.api('POST', `/sandboxes/${paused.id}/pause`)).status).toBe(204);
    await send(runs.id, 100);

    const { name, untilMs } = month();
    const refused = {
      status: 429,
      body: {
        code: 429,
        message: `egress limit reached (${await used()} of 200 MiB sent in ${name}): no sandbox and no build starts until ${new Date(untilMs).toISOString()}, unless you get a higher limit`,
      },
    };
    expect(await create()).toMatchObject(refused);
    for (const what of ['resume', 'connect'])
      expect(await test.api('POST', `/sandboxes/${paused.id}/${what}`, { timeout: 60 })).toMatchObject(
        refused,
      );
    const [fork] = (await test.api('POST', `/sandboxes/${runs.id}/fork`, { timeout: 60 })).body;
    expect(fork.error).toMatchObject(refused.body);
    expect([modes.get(runs.id), modes.get(governed.id)]).toEqual([['none'], ['none']]);
    await round();
    expect(modes.get(runs.id)).toEqual(['none']);

    // New settings are kept, and wait.
    const update = await test.api('PUT', `/sandboxes/${runs.id}/network`, { denyOut: ['192.0.2.0/24'] });
    expect(update.status).toBe(204);
    expect(modes.get(runs.id)?.at(-1)).toBe('none');

    await setLimit(100_000);
    expect([modes.get(runs.id)?.at(-1), modes.get(governed.id)?.at(-1)]).toEqual(['governed', 'governed']);
    expect((await test.api('GET', `/sandboxes/${runs.id}`)).body.network.denyOut).toEqual(['192.0.2.0/24']);
    expect((await test.api('POST', `/sandboxes/${paused.id}/resume`, { timeout: 60 })).status).toBe(201);
    await createSandbox(test);
  });

  it('begins anew with the month, and is tried again where it could not be put in force', async () => {
    await setLimit(null);
    const { id } = await createSandbox(test, { timeout: 86_400 });
    failure = new Error('not now');
    // A team that always has something done to its sandboxes gains nothing by it.
    const live = test.server.context.sandboxes.get(id)!;
    live.transition = { kind: 'snapshotting' } as never;
    await setLimit(await used());
    expect(modes.get(id)).toBeUndefined();
    await round();
    expect(modes.get(id)).toEqual(['none']);
    live.transition = undefined;
    expect((await create()).status).toBe(429);
    // It would have ended meanwhile.
    await test.server.context.db
      .updateTable('sandboxes')
      .set({ end_at: Date.now() + 400 * DAY_MS })
      .execute();
    for (const live of test.server.context.sandboxes.values())
      live.row = { ...live.row, end_at: Date.now() + 400 * DAY_MS };
    await nextMonth();
    expect(modes.get(id)).toEqual(['none', 'internet']);
    expect(await used()).toBe(0);
    await createSandbox(test);
  });

  it('is counted by the driver, also of a sandbox that ended before the report', async () => {
    await setLimit(null);
    const { context } = test.server;
    const { body } = await create();
    await context.countPackets();
    const before = await used();
    await test.api('DELETE', `/sandboxes/${body.sandboxID}`);
    counted.set(body.sandboxID, 7 * MIB);
    counted.set('i-nobody', 9 * MIB);
    // It looks at most once a second.
    await eventually('the bytes of both looks', async () => {
      await context.countPackets();
      return (await used()) === before + 7;
    });
    await round();
    expect(await used()).toBe(before + 7);
  });

  it('counts what builds send, and once it is used up no build starts', async () => {
    await setLimit(null);
    const { context } = test.server;
    await context.countPackets();
    const before = await used();
    const steps = [{ type: 'RUN', args: ['echo made > made'] }];
    await build(test, 'sender', { steps });
    const machine = made.findLast((id) => id.startsWith('b'))!;
    // The driver tells of it after its end.
    counted.set(machine, 5 * MIB);
    await eventually('the bytes of the build', async () => {
      await context.countPackets();
      return (await used()) === before + 5;
    });
    await setLimit(before + 5);
    const next = await createTemplate(test, { name: 'sender' });
    const refused = await start(test, next, { fromTemplate: 'base', steps });
    expect(refused).toMatchObject({
      status: 429,
      body: { message: expect.stringContaining('no build starts') },
    });
    expect((await status(test, next)).body.status).toBe('waiting');
    await setLimit(null);
    expect((await start(test, next, { fromTemplate: 'base', steps })).status).toBe(202);
    expect((await ended(test, next)).status).toBe('ready');
  });
});

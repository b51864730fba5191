import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { repairTeamRunning } from '../../src/sandboxes/change/repair-team-running.js';
import { operate } from '../support/operate.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';
import { createStubDriver, type StubDriver } from '../support/stub-driver.js';

/** Sandboxes that the team may run, and those that its memory is enough for: the second is the less. */
const LIMIT = 7;
const MEMORY_FOR = 6;
const MEMORY_MIB = 1_024;

let drivers: StubDriver[];
let shared: SharedServers;
beforeAll(async () => {
  drivers = await Promise.all(Array.from({ length: dialect === 'postgres' ? 2 : 1 }, createStubDriver));
  shared = await startSharedServers(drivers.length, (index) => ({
    driver: drivers[index]!,
    teamLimits: { maxConcurrentSandboxes: LIMIT, maxTotalMemoryMiB: MEMORY_FOR * MEMORY_MIB },
  }));
  for (const { server } of shared.servers) server.context.fleet.places = () => Promise.resolve([]);
});
afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
  for (const driver of drivers ?? []) await driver[Symbol.asyncDispose]();
});

const either = (index: number): TestServer => shared.servers[index % shared.servers.length]!;
const first = () => either(0);
const create = (index: number) =>
  shared.ask(either(index), 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 600 });
const stateOf = async () => {
  const { db } = first().server.context;
  const rows = await db.selectFrom('sandboxes').select(['id', 'state']).orderBy('id').execute();
  return {
    running: rows.filter(({ state }) => state === 'running').map(({ id }) => id),
    paused: rows.filter(({ state }) => state === 'paused').map(({ id }) => id),
    others: rows.filter(({ state }) => state !== 'running' && state !== 'paused'),
    counted: (await db.selectFrom('team_running').select('sandboxes').executeTakeFirst())?.sandboxes ?? 0,
  };
};
/** Both say the same of the same moment, and what they say is allowed. */
const check = async () => {
  expect(await repairTeamRunning(first().server.context)).toEqual([]);
  const state = await stateOf();
  expect(state.others).toEqual([]);
  expect(state.counted).toBe(state.running.length);
  expect(state.counted).toBeLessThanOrEqual(MEMORY_FOR);
  return state;
};

it('the limits of a team are exact while creates, forks, pauses, resumes and kills run side by side', async () => {
  const made = await Promise.all(Array.from({ length: 12 }, (_, index) => create(index)));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(MEMORY_FOR);
  for (const { status } of made) expect([201, 429]).toContain(status);
  let { running, paused } = await check();
  for (let round = 0; round < 4; round += 1) {
    const [pausing, killed, forked, ...rest] = running;
    const asked = [
      ...[pausing, rest[0]].map((id) => ['POST', `/sandboxes/${id}/pause`, undefined] as const),
      ['DELETE', `/sandboxes/${killed}`, undefined] as const,
      ['POST', `/sandboxes/${forked}/fork`, { count: 3, timeout: 600 }] as const,
      ...paused.map((id) => ['POST', `/sandboxes/${id}/resume`, {}] as const),
      ...Array.from(
        { length: 4 },
        () => ['POST', '/v2/sandboxes', { templateID: 'base', timeout: 600 }] as const,
      ),
    ];
    const answers = await Promise.all(
      asked.map(([method, target, body], index) => shared.ask(either(round + index), method, target, body)),
    );
    for (const { status, body } of answers) expect([201, 204, 429], JSON.stringify(body)).toContain(status);
    ({ running, paused } = await check());
    // Room that was given back can be taken at once, all of it and no more.
    const filled = await Promise.all(
      Array.from({ length: MEMORY_FOR - running.length + 2 }, (_, index) => create(index)),
    );
    expect(filled.filter(({ status }) => status === 201)).toHaveLength(MEMORY_FOR - running.length);
    ({ running, paused } = await check());
  }
});

it('what expires counts no longer', async () => {
  const { running } = await check();
  expect(running.length).toBeGreaterThan(0);
  for (const server of shared.servers) server.advance(3_600_000);
  // The servers look by themselves too.
  await eventually('all have ended', async () => {
    for (const { server } of shared.servers) await server.expireDue();
    const { counted, others } = await stateOf();
    return counted === 0 && others.length === 0;
  });
  expect((await check()).running).toEqual([]);
  expect((await create(0)).status).toBe(201);
});

it.skipIf(dialect === 'sqlite')('what a lost server ran counts until the server is forgotten', async () => {
  const [here, lost] = shared.servers as [TestServer, TestServer];
  const { counted } = await check();
  for (let index = counted; index < MEMORY_FOR; index += 1) await shared.createOn(lost);
  await lost.server.stop({ destroySandboxes: false });
  expect((await create(0)).status).toBe(429);
  const { nodeId } = lost.server.context.config;
  expect((await operate(here.server, 'POST', `/nodes/${nodeId}/forget`)).status).toBe(200);
  expect((await check()).counted).toBe(counted);
  expect((await create(0)).status).toBe(201);
});

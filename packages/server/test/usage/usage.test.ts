import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { writeUsage } from '../../src/teams/usage/write-usage.js';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
let headers: Record<string, string>;
beforeAll(async () => {
  test = await startTestServer();
  await operate('POST', '/teams', {
    slug: 'research',
    limits: { maxConcurrentSandboxes: 2, maxStorageMB: 77 },
  });
  const key = await operate('POST', '/teams/research/api-keys', { name: 'first' });
  headers = { 'X-API-Key': key.body.key };
});
afterAll(() => test?.[Symbol.asyncDispose]());

async function operate(method: string, target: string, body?: unknown): Promise<ApiAnswer> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${test.server.operatorUrl}${target}`, {
    ...{ method, ...json },
    headers: { Authorization: `Bearer ${test.server.operatorToken}` },
  });
  const text = await response.text();
  const parsed = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}

const MINUTE = 60_000;
/** Each hour is rounded to whole seconds, and the test may begin just before one ends. */
const ROUNDING = 3;
const create = (more: object = {}) =>
  test.api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 86_400, ...more }, headers);
/** All hours of the team added up. */
async function used(): Promise<{ sandboxSeconds: number; memoryMBSeconds: number; creates: number }> {
  const { status, body } = await operate('GET', '/teams/research/usage');
  expect(status).toBe(200);
  const sum = (name: string) =>
    body.hours.reduce((total: number, hour: Record<string, number>) => total + (hour[name] ?? 0), 0);
  return {
    sandboxSeconds: sum('sandboxSeconds'),
    memoryMBSeconds: sum('memoryMBSeconds'),
    creates: sum('creates'),
  };
}

it('shows what a team takes of its limits, and refuses with both', async () => {
  expect((await operate('GET', '/teams/research/usage')).body).toEqual({
    use: { sandboxes: 0, memoryMB: 0, storageMB: 0, egressMonthMB: 0, secrets: 0, webhooks: 0 },
    hours: [],
  });
  const one = (await create()).body;
  const two = (await create()).body;
  await test.api('POST', '/secrets', { name: 'TOKEN', value: 'x' }, headers);
  const { memoryMB } = (await test.api('GET', `/sandboxes/${one.sandboxID}`, undefined, headers)).body;
  expect((await operate('GET', '/teams/research/usage')).body.use).toMatchObject({
    ...{ sandboxes: 2, memoryMB: 2 * memoryMB, secrets: 1, webhooks: 0 },
  });
  expect((await create()).body).toMatchObject({ code: 429, message: expect.stringContaining('2 of 2') });
  for (const { sandboxID } of [one, two])
    await test.api('DELETE', `/sandboxes/${sandboxID}`, undefined, headers);
  expect((await operate('GET', '/teams/research/usage')).body.use).toMatchObject({
    sandboxes: 0,
    memoryMB: 0,
  });
});

it('counts the time that sandboxes run: not while they are paused, and over a restart', async () => {
  const before = await used();
  const { sandboxID } = (await create()).body;
  const path = `/sandboxes/${sandboxID}`;
  const { memoryMB } = (await test.api('GET', path, undefined, headers)).body;
  const grown = async () => (await used()).sandboxSeconds - before.sandboxSeconds;
  test.advance(10 * MINUTE);
  expect(await grown()).toBeGreaterThanOrEqual(600 - ROUNDING);
  expect((await used()).creates).toBe(before.creates + 1);

  expect((await test.api('POST', `${path}/pause`, undefined, headers)).status).toBe(204);
  const paused = await grown();
  test.advance(60 * MINUTE);
  expect(await grown()).toBe(paused);

  expect((await test.api('POST', `${path}/connect`, { timeout: 86_400 }, headers)).status).toBeLessThan(300);
  test.advance(5 * MINUTE);
  await test.restart();
  expect(await grown()).toBeGreaterThanOrEqual(paused + 300 - ROUNDING);
  test.advance(5 * MINUTE);
  await test.api('DELETE', path, undefined, headers);
  const after = await used();
  const seconds = after.sandboxSeconds - before.sandboxSeconds;
  expect(seconds).toBeGreaterThanOrEqual(1_200 - ROUNDING);
  // A busy machine adds its own time, but not the hour of the pause.
  expect(seconds).toBeLessThan(1_200 + 1_800);
  const memory = after.memoryMBSeconds - before.memoryMBSeconds;
  expect(Math.abs(memory - seconds * memoryMB)).toBeLessThan(10 * memoryMB);
});

it('is asked for by the hour', async () => {
  const { body } = await operate('GET', '/teams/research/usage?from=2000-01-01T00:00:00Z');
  expect(body.hours.length).toBeGreaterThan(0);
  const [{ hour }] = body.hours;
  expect(hour).toMatch(/:00:00\.000Z$/);
  const none = await operate('GET', `/teams/research/usage?from=2000-01-01T00:00:00Z&until=${hour}`);
  expect(none.body.hours).toEqual([]);
  for (const query of ['from=yesterday', 'until=', 'from=2016-12-31T23:59:60Z'])
    expect((await operate('GET', `/teams/research/usage?${query}`)).status, query).toBe(400);
  expect((await operate('GET', '/teams/nobody/usage')).status).toBe(404);
});

it('counts what left sandboxes of a team, and what could not be written later', async () => {
  const { context } = test.server;
  const { sandboxID } = (await create()).body;
  const teamId = context.sandboxes.get(sandboxID)!.row.team_id;
  context.usage.sent(teamId, 12_345);
  const failing = {
    ...context.db,
    insertInto: () => {
      throw new Error('no database');
    },
  };
  await expect(writeUsage({ ...context, db: failing as never })).rejects.toThrow('no database');
  await writeUsage(context);
  const bytes = await eventually('the bytes', async () => {
    const { body } = await operate('GET', '/teams/research/usage');
    return body.hours.reduce((sum: number, hour: { egressBytes: number }) => sum + hour.egressBytes, 0);
  });
  expect(bytes).toBe(12_345);
  await test.api('DELETE', `/sandboxes/${sandboxID}`, undefined, headers);
});

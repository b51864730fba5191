import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryDriver, type MemoryDriver } from '../support/memory-driver.js';
import { operate } from '../support/operate.js';
import { createSandbox } from '../support/sandboxes.js';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
let driver: MemoryDriver;
let directory: string;
/** Of one sandbox of the template base. */
let each: number;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-team-memory-'));
  driver = await createMemoryDriver(directory);
  test = await startTestServer({ driver });
  const [template] = (await test.api('GET', '/templates')).body;
  each = template.memoryMB;
});
afterAll(async () => {
  await test?.[Symbol.asyncDispose]();
  await driver?.close({ destroyInstances: true });
  await rm(directory, { recursive: true, force: true });
});

const setLimit = async (maxTotalMemoryMB: number | null) => {
  const answer = await operate(test.server, 'PATCH', '/teams/default', { limits: { maxTotalMemoryMB } });
  expect(answer.status).toBe(200);
  return answer.body;
};
const memoryInUse = async () =>
  (await operate(test.server, 'GET', '/teams/default/usage')).body.use.memoryMB as number;
const refusal = (used: number, limit: number) => ({
  status: 429,
  body: {
    code: 429,
    message: `memory limit reached (${used} of ${limit} MiB in use, ${each} more asked for): kill or pause a sandbox, or ask for a higher limit`,
  },
});
const post = (id: string, what: string, body: object = {}): Promise<ApiAnswer> =>
  test.api('POST', `/sandboxes/${id}/${what}`, body);

describe('memory of all sandboxes of a team that run at once', () => {
  it('has no limit unless one is set, and none again when that is taken back', async () => {
    expect((await test.api('GET', '/team')).body.limits).not.toHaveProperty('maxTotalMemoryMB');
    expect(await setLimit(1_000)).toMatchObject({
      limits: { maxTotalMemoryMB: 1_000 },
      ownLimits: ['maxTotalMemoryMB'],
    });
    expect((await test.api('GET', '/team')).body.limits).toMatchObject({ maxTotalMemoryMB: 1_000 });
    const back = await setLimit(null);
    expect(back.ownLimits).toEqual([]);
    expect(back.limits).not.toHaveProperty('maxTotalMemoryMB');
    for (const wrong of [-1, 1.5, '1000', 2 ** 31]) {
      const answer = await operate(test.server, 'PATCH', '/teams/default', {
        limits: { maxTotalMemoryMB: wrong },
      });
      expect(answer.status, String(wrong)).toBe(400);
    }
  });

  it('is kept to by creates at once: as many as fit, no more, and to the last MiB', async () => {
    await setLimit(3 * each);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => test.api('POST', '/v2/sandboxes', { templateID: 'base' })),
    );
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect([made.length, refused.length]).toEqual([3, 5]);
    for (const answer of refused) {
      expect(answer).toMatchObject(refusal(3 * each, 3 * each));
      expect(answer.headers.get('retry-after')).toBeNull();
    }
    expect(await memoryInUse()).toBe(3 * each);
    for (const { body } of made) await test.api('DELETE', `/sandboxes/${body.sandboxID}`);
    await setLimit(each - 1);
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject(
      refusal(0, each - 1),
    );
    expect(await memoryInUse()).toBe(0);
  });

  it('is kept to by forks, each by itself, and leaves nothing of those that were refused', async () => {
    await setLimit(3 * each);
    const { id } = await createSandbox(test);
    const answer = await post(id, 'fork', { count: 6, timeout: 60 });
    expect(answer.status).toBe(201);
    const entries = answer.body as { sandbox?: { sandboxID: string }; error?: { message: string } }[];
    const forks = entries.flatMap(({ sandbox }) => (sandbox === undefined ? [] : [sandbox.sandboxID]));
    const errors = entries.flatMap(({ error }) => (error === undefined ? [] : [error]));
    expect([forks.length, errors.length]).toEqual([2, 4]);
    for (const error of errors) expect(error).toMatchObject(refusal(3 * each, 3 * each).body);
    expect(await memoryInUse()).toBe(3 * each);
    for (const fork of forks) await test.api('DELETE', `/sandboxes/${fork}`);
    expect([...driver.stored]).toEqual([]);
  });

  it('does not count what is paused, and limits everything that wakes it', async () => {
    await setLimit(each);
    const sleeper = await createSandbox(test, { autoPause: true, autoResume: { enabled: true } });
    expect((await post(sleeper.id, 'pause')).status).toBe(204);
    const other = await createSandbox(test);
    const refused = refusal(each, each);
    expect(await post(sleeper.id, 'resume')).toMatchObject(refused);
    expect(await post(sleeper.id, 'connect', { timeout: 60 })).toMatchObject(refused);
    const knock = () =>
      fetch(`${test.server.sandboxUrl}/envs`, {
        headers: {
          'Svc-Sandbox-Id': sleeper.id,
          'Svc-Sandbox-Port': '49983',
          'X-Access-Token': sleeper.token,
        },
      });
    expect((await knock()).status).toBe(429);
    expect((await test.api('GET', `/sandboxes/${sleeper.id}`)).body.state).toBe('paused');

    expect((await test.api('DELETE', `/sandboxes/${other.id}`)).status).toBe(204);
    expect((await knock()).status).toBe(200);
    expect((await test.api('GET', `/sandboxes/${sleeper.id}`)).body.state).toBe('running');
    expect(await memoryInUse()).toBe(each);
    // One that runs already takes nothing more.
    expect((await post(sleeper.id, 'connect', { timeout: 60 })).status).toBe(200);
  });

  it('ends nothing when it is lowered, and lets the next in when it is raised', async () => {
    await setLimit(null);
    const { id } = await createSandbox(test);
    await setLimit(0);
    expect((await test.api('GET', `/sandboxes/${id}`)).body.state).toBe('running');
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject(refusal(each, 0));
    await setLimit(2 * each);
    await createSandbox(test);
  });
});

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { createSandbox, eventTypes, run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

const stateOf = async (id: string) => (await test.api('GET', `/sandboxes/${id}`)).body.state;

describe('pauseSandbox', () => {
  it('pauses a running sandbox, and refuses one that is paused with 409', async () => {
    const { id } = await createSandbox(test);
    expect((await test.api('POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    expect(await stateOf(id)).toBe('paused');
    expect((await test.api('POST', `/sandboxes/${id}/pause`)).status).toBe(409);
  });
  it('lets pauses at the same time share one', async () => {
    const { id } = await createSandbox(test);
    const answers = await Promise.all([1, 2, 3].map(() => test.api('POST', `/sandboxes/${id}/pause`)));
    expect(answers.map((answer) => answer.status)).toEqual([204, 204, 204]);
    expect(await eventTypes(test, id)).toEqual(['created', 'paused']);
  });
  it('answers 404 for an unknown sandbox and 400 for a bad id', async () => {
    expect((await test.api('POST', '/sandboxes/iunknown/pause')).status).toBe(404);
    const bad = await test.api('POST', '/sandboxes/a-b-c/pause');
    expect(bad).toMatchObject({ status: 400, body: { code: 400, message: 'Invalid sandbox ID' } });
  });
  it('keeps files but not programs with memory: false', async () => {
    const sandbox = await createSandbox(test);
    await run(test, sandbox, 'echo kept > note.txt');
    expect((await test.api('POST', `/sandboxes/${sandbox.id}/pause`, { memory: false })).status).toBe(204);
    expect((await test.api('POST', `/v2/sandboxes/${sandbox.id}/connect`)).status).toBe(201);
    expect(await run(test, sandbox, 'cat note.txt')).toBe('kept\n');
  });
});

describe('resumeSandbox', () => {
  it('wakes a paused sandbox with a new time to live and the same token', async () => {
    const sandbox = await createSandbox(test);
    await test.api('POST', `/sandboxes/${sandbox.id}/pause`);
    const resumed = await test.api('POST', `/sandboxes/${sandbox.id}/resume`, { timeout: 60 });
    expect(resumed).toMatchObject({ status: 201, body: { envdAccessToken: sandbox.token } });
    expect(resumed.headers.get('Deprecation')).toBe('true');
    expect(resumed.headers.get('Link')).toBe(
      `</v2/sandboxes/${sandbox.id}/connect>; rel="successor-version"`,
    );
    const read = await test.api('GET', `/sandboxes/${sandbox.id}`);
    expect(Date.parse(read.body.endAt) - Date.parse(read.body.startedAt)).toBe(60_000);
    expect(await run(test, sandbox, 'echo back')).toBe('back\n');
    expect(await eventTypes(test, sandbox.id)).toEqual(['created', 'paused', 'resumed']);
  });
  it('answers 409 while the sandbox runs, 404 for an unknown one and 400 for a timeout over the plan', async () => {
    const { id } = await createSandbox(test);
    expect((await test.api('POST', `/sandboxes/${id}/resume`)).status).toBe(409);
    expect((await test.api('POST', '/sandboxes/iunknown/resume')).status).toBe(404);
    expect((await test.api('POST', `/sandboxes/${id}/resume`, { timeout: 86_401 })).status).toBe(400);
    expect((await test.api('POST', `/sandboxes/${id}/resume`, { timeout: 0 })).status).toBe(400);
  });
});

describe('a run', () => {
  it('lasts as long as was asked by its own record, to the millisecond, on a clock that never stands still', async () => {
    let reads = 0;
    const hurried = await startTestServer({ now: () => Date.now() + ++reads });
    onTestFinished(() => hurried[Symbol.asyncDispose]());
    const { id } = await createSandbox(hurried, { timeout: 300 });
    const lastsMs = async () => {
      const { startedAt, endAt } = (await hurried.api('GET', `/sandboxes/${id}`)).body;
      return Date.parse(endAt) - Date.parse(startedAt);
    };
    expect(await lastsMs()).toBe(300_000);
    for (const operation of [`/sandboxes/${id}/resume`, `/sandboxes/${id}/connect`]) {
      await hurried.api('POST', `/sandboxes/${id}/pause`);
      expect((await hurried.api('POST', operation, { timeout: 200 })).status).toBe(201);
      expect(await lastsMs()).toBe(200_000);
    }
  });
});

describe('connectSandbox', () => {
  it('answers 200 for a running sandbox and only ever extends it', async () => {
    const { id } = await createSandbox(test, { timeout: 300 });
    const before = (await test.api('GET', `/sandboxes/${id}`)).body.endAt;
    expect((await test.api('POST', `/v2/sandboxes/${id}/connect`, { timeout: 10 })).status).toBe(200);
    expect((await test.api('GET', `/sandboxes/${id}`)).body.endAt).toBe(before);
    expect((await test.api('POST', `/sandboxes/${id}/connect`, { timeout: 900 })).status).toBe(200);
    expect(Date.parse((await test.api('GET', `/sandboxes/${id}`)).body.endAt)).toBeGreaterThan(
      Date.parse(before),
    );
  });
  it('answers 201 when it woke the sandbox, to everybody who asked meanwhile', async () => {
    const { id } = await createSandbox(test);
    await test.api('POST', `/sandboxes/${id}/pause`);
    const answers = await Promise.all([1, 2, 3].map(() => test.api('POST', `/v2/sandboxes/${id}/connect`)));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201]);
    expect((await eventTypes(test, id)).filter((type) => type === 'resumed')).toHaveLength(1);
  });
  it('wants a body on v1', async () => {
    const { id } = await createSandbox(test);
    const answer = await test.api('POST', `/sandboxes/${id}/connect`);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(/^validation error: /);
  });
});

describe('setSandboxTimeout', () => {
  it('sets the end, shorter too', async () => {
    const { id } = await createSandbox(test);
    expect((await test.api('POST', `/sandboxes/${id}/timeout`, { timeout: 20 })).status).toBe(204);
    const read = await test.api('GET', `/sandboxes/${id}`);
    expect(Date.parse(read.body.endAt)).toBeLessThan(Date.now() + 21_000);
    expect(await eventTypes(test, id)).toEqual(['created', 'updated']);
  });
  it('refuses more than the plan allows', async () => {
    const { id } = await createSandbox(test);
    expect(await test.api('POST', `/sandboxes/${id}/timeout`, { timeout: 86_401 })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('24 hours') },
    });
    expect((await test.api('POST', `/sandboxes/${id}/timeout`, { timeout: 86_400 })).status).toBe(204);
  });
  it('answers 404 for a paused sandbox and 400 without a timeout', async () => {
    const { id } = await createSandbox(test);
    expect((await test.api('POST', `/sandboxes/${id}/timeout`, {})).status).toBe(400);
    expect((await test.api('POST', `/sandboxes/${id}/timeout`, { timeout: -1 })).status).toBe(400);
    await test.api('POST', `/sandboxes/${id}/pause`);
    expect((await test.api('POST', `/sandboxes/${id}/timeout`, { timeout: 20 })).status).toBe(404);
  });
});

describe('refreshSandbox', () => {
  it('extends and never shortens', async () => {
    const { id } = await createSandbox(test, { timeout: 20 });
    const end = async () => Date.parse((await test.api('GET', `/sandboxes/${id}`)).body.endAt);
    const first = await end();
    expect((await test.api('POST', `/sandboxes/${id}/refreshes`)).status).toBe(204);
    expect(await end()).toBe(first);
    expect((await test.api('POST', `/sandboxes/${id}/refreshes`, { duration: 100 })).status).toBe(204);
    expect(await end()).toBeGreaterThan(first + 70_000);
    expect((await test.api('POST', `/sandboxes/${id}/refreshes`, { duration: 3601 })).status).toBe(400);
    expect((await test.api('POST', '/sandboxes/iunknown/refreshes')).status).toBe(404);
  });
});

describe('killSandbox', () => {
  it('ends running and paused sandboxes, and answers 404 the second time', async () => {
    for (const paused of [false, true]) {
      const { id } = await createSandbox(test);
      if (paused) await test.api('POST', `/sandboxes/${id}/pause`);
      expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
      expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(404);
      expect((await eventTypes(test, id)).at(-1)).toBe('killed');
    }
  });
  it('accepts the older form of the id', async () => {
    const { id } = await createSandbox(test);
    expect((await test.api('DELETE', `/sandboxes/${id}-svc00000`)).status).toBe(204);
  });
});

describe('the end of the time to live', () => {
  it('kills, with the reason timeout', async () => {
    const { id } = await createSandbox(test, { timeout: 30, metadata: { who: 'me' } });
    test.advance(31_000);
    await eventually('the sandbox is gone', async () => (await eventTypes(test, id)).includes('killed'));
    expect((await test.api('GET', `/sandboxes/${id}`)).status).toBe(404);
    const event = await test.server.context.db
      .selectFrom('events')
      .selectAll()
      .where('sandbox_id', '=', id)
      .where('type', '=', 'sandbox.lifecycle.killed')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(event.data)).toMatchObject({
      kill_reason: 'timeout',
      sandbox_metadata: { who: 'me' },
      execution: { vcpu_count: 2, memory_mb: 1024 },
    });
  });
  it('pauses with autoPause, and a request wakes it with autoResume', async () => {
    const sandbox = await createSandbox(test, {
      timeout: 30,
      autoPause: true,
      autoResume: { enabled: true },
    });
    const read = await test.api('GET', `/sandboxes/${sandbox.id}`);
    expect(read.body.lifecycle).toEqual({ autoResume: true, onTimeout: 'pause' });
    test.advance(31_000);
    await eventually('the sandbox is paused', async () => (await stateOf(sandbox.id)) === 'paused');
    expect(await run(test, sandbox, 'echo awake')).toBe('awake\n');
    expect(await stateOf(sandbox.id)).toBe('running');
  });
});

describe('forkSandbox and createSnapshot without memory snapshots', () => {
  it('say which capability is missing', async () => {
    const { id } = await createSandbox(test);
    for (const answer of [
      await test.api('POST', `/sandboxes/${id}/fork`),
      await test.api('POST', `/sandboxes/${id}/snapshots`, {}),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.body.message).toContain('memorySnapshot');
    }
    expect(await stateOf(id)).toBe('running');
  });
  it('snapshots files, from which others start', async () => {
    const sandbox = await createSandbox(test, { envVars: { COLOR: 'red' } });
    await run(test, sandbox, 'echo one > note.txt');
    const snapshot = await test.api('POST', `/sandboxes/${sandbox.id}/snapshots`, {
      name: 'mine:v1',
      memory: false,
    });
    expect(snapshot).toMatchObject({
      status: 201,
      body: { snapshotID: 'default/mine:v1', names: ['default/mine:v1'] },
    });
    const other = await createSandbox(test, { templateID: 'mine:v1' });
    expect(await run(test, other, 'cat note.txt; echo $COLOR')).toBe('one\nred\n');
    const list = await test.api('GET', '/snapshots?name=mine');
    expect(list.body).toEqual([{ snapshotID: 'default/mine:v1', names: ['default/mine:v1'] }]);
    expect((await test.api('GET', '/snapshots?name=nobody')).body).toEqual([]);
    expect((await test.api('GET', `/snapshots?sandboxID=${sandbox.id}`)).body).toHaveLength(1);
    expect(await eventTypes(test, sandbox.id)).toContain('checkpointed');
  });
  it('checks counts and timeouts of a fork', async () => {
    const { id } = await createSandbox(test);
    for (const body of [{ count: 0 }, { count: 101 }, { timeout: -1 }, { timeout: 86_401 }])
      expect((await test.api('POST', `/sandboxes/${id}/fork`, body)).status).toBe(400);
    expect((await test.api('POST', '/sandboxes/iunknown/fork')).status).toBe(404);
    await test.api('POST', `/sandboxes/${id}/pause`);
    expect((await test.api('POST', `/sandboxes/${id}/fork`)).status).toBe(409);
    expect((await test.api('POST', `/sandboxes/${id}/snapshots`, {})).status).toBe(404);
  });
});

describe('getSandboxLogsV2', () => {
  it('gives what processes printed, filtered and in order', async () => {
    const sandbox = await createSandbox(test);
    await run(test, sandbox, 'echo first; echo second');
    // Of two streams of one program nobody knows which line was first.
    await run(test, sandbox, 'echo oops >&2');
    const messages = async (query: string) => {
      const answer = await test.api('GET', `/v2/sandboxes/${sandbox.id}/logs${query}`);
      expect(answer.status).toBe(200);
      return answer.body.logs.map((entry: { message: string }) => entry.message);
    };
    await eventually('the lines are there', async () => (await messages('')).length === 3);
    expect(await messages('?direction=forward&search=s')).toEqual(
      expect.arrayContaining(['first', 'second', 'oops']),
    );
    expect(await messages('?level=error')).toEqual(['oops']);
    expect(await messages('?search=SECOND')).toEqual([]);
    expect(await messages('?search=second')).toEqual(['second']);
    expect(await messages('?limit=0')).toEqual([]);
    expect(await messages('?limit=1&direction=forward')).toEqual(['first']);
    const old = await test.api('GET', `/sandboxes/${sandbox.id}/logs`);
    expect(old.body.logs).toHaveLength(3);
    await test.api('DELETE', `/sandboxes/${sandbox.id}`);
    expect(await messages('?limit=10')).toHaveLength(3);
  });
  it('gives an empty list for an unknown sandbox, and 400 for values out of range', async () => {
    expect((await test.api('GET', '/v2/sandboxes/iunknown/logs')).body).toEqual({ logs: [] });
    for (const query of [
      'limit=1001',
      'limit=x',
      'direction=up',
      'level=loud',
      `search=${'x'.repeat(257)}`,
      'cursor=-1',
    ])
      expect((await test.api('GET', `/v2/sandboxes/iunknown/logs?${query}`)).status).toBe(400);
    expect((await test.api('GET', '/v2/sandboxes/a-b-c/logs')).status).toBe(400);
  });
});

describe('metrics', () => {
  it('come from samples', async () => {
    const { id } = await createSandbox(test);
    await test.server.sampleNow();
    const one = await test.api('GET', `/sandboxes/${id}/metrics`);
    expect(one.status).toBe(200);
    expect(one.body[0]).toMatchObject({ cpuCount: expect.any(Number), memUsed: expect.any(Number) });
    const many = await test.api('GET', `/sandboxes/metrics?sandbox_ids=${id},iunknown`);
    expect(Object.keys(many.body.sandboxes)).toEqual([id]);
    expect((await test.api('GET', `/sandboxes/${id}/metrics?start=20&end=10`)).status).toBe(400);
  });
  it('refuse more than 100 sandboxes, duplicates, bad ids and none at all', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => `i${index}`);
    for (const query of [`sandbox_ids=${ids.join(',')}`, 'sandbox_ids=ia,ia', 'sandbox_ids=a-b-c', ''])
      expect((await test.api('GET', `/sandboxes/metrics?${query}`)).status).toBe(400);
  });
});

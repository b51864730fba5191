import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { DatabaseLostError } from '../../src/storage/database-errors.js';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

/** `before`: nothing of the transaction happens. `after`: all of it, but nobody is told. */
type Loss = 'before' | 'after';

describe('an operation whose database goes away half-way', () => {
  let test: TestServer;
  beforeAll(async () => {
    test = await startTestServer({ validateResponses: false });
  });
  afterAll(() => test?.[Symbol.asyncDispose]());

  /** Lets the database be lost in the `nth` transaction from now, and in every one after it until it is `back`. */
  function lose(nth: number, loss: Loss): { back(): boolean } {
    const { db } = test.server.context;
    const real = db.transaction.bind(db);
    let count = 0;
    db.transaction = (() => ({
      execute: async (work: never) => {
        count++;
        if (count < nth) return real().execute(work);
        if (count === nth && loss === 'after') await real().execute(work);
        throw new DatabaseLostError(new Error('the connection broke'));
      },
    })) as never;
    return {
      back() {
        db.transaction = real as never;
        return count >= nth;
      },
    };
  }

  const create = async () => {
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    expect(made.status).toBe(201);
    return { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
  };
  const pause = (id: string, memory: boolean) => test.api('POST', `/sandboxes/${id}/pause`, { memory });

  const operations: Record<
    string,
    { prepare?(id: string): Promise<unknown>; act(id: string): Promise<unknown> }
  > = {
    kill: { act: (id) => test.api('DELETE', `/sandboxes/${id}`) },
    'pause in memory': { act: (id) => pause(id, true) },
    'pause without memory': { act: (id) => pause(id, false) },
    'resume from memory': {
      prepare: (id) => pause(id, true),
      act: (id) => test.api('POST', `/v2/sandboxes/${id}/connect`, { timeout: 60 }),
    },
    'resume from files': {
      prepare: (id) => pause(id, false),
      act: (id) => test.api('POST', `/v2/sandboxes/${id}/connect`, { timeout: 60 }),
    },
    snapshot: {
      act: (id) => test.api('POST', `/sandboxes/${id}/snapshots`, { name: randomUUID(), memory: false }),
    },
  };

  const rows = () =>
    test.server.context.db.selectFrom('sandboxes').select(['id', 'state', 'checkpoint_id']).execute();

  /** Waits until what is due is done; then records, instances and this process agree. */
  async function allAgree(): Promise<void> {
    const { context } = test.server;
    await eventually('everything due is done', async () => {
      await context.retries.run();
      // The server's own round may be at work on it: then nothing is due, and not done yet either.
      const idle = [...context.sandboxes.values()].every(({ transition }) => transition === undefined);
      return idle && context.retries.size === 0;
    });
    const stored = await rows();
    for (const { id, state } of stored) expect(['running', 'paused'], id).toContain(state);
    const instances = await context.driver.list();
    for (const { id, state, checkpoint_id: checkpoint } of stored) {
      const instance = instances.find((one) => one.id === id);
      if (checkpoint === null) expect(instance?.state, id).toBe(state === 'running' ? 'running' : 'frozen');
      else expect(instance, id).toBeUndefined();
    }
    expect(instances.filter(({ id }) => !stored.some((row) => row.id === id))).toEqual([]);
    for (const live of context.sandboxes.values()) {
      expect(live.transition).toBeUndefined();
      expect(live.row.state).toBe(stored.find((row) => row.id === live.row.id)?.state);
    }
  }

  const cases = Object.keys(operations).flatMap((name) =>
    (['before', 'after'] as const).flatMap((loss) => [1, 2].map((nth) => ({ name, loss, nth }))),
  );

  it.each(cases)('$name, lost $loss transaction $nth, is finished or undone', async ({ name, loss, nth }) => {
    const { prepare, act } = operations[name]!;
    const sandbox = await create();
    await prepare?.(sandbox.id);
    const database = lose(nth, loss);
    await act(sandbox.id);
    const met = database.back();
    expect(met).toBe(true);
    await allAgree();
    if ((await rows()).some(({ id }) => id === sandbox.id)) {
      const woken = await test.api('POST', `/v2/sandboxes/${sandbox.id}/connect`, { timeout: 60 });
      expect(woken.status).toBeLessThan(300);
      expect(await run(test, sandbox, 'echo here')).toBe('here\n');
      expect((await test.api('DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    }
    await allAgree();
    expect(await rows()).toEqual([]);
  });

  it.each((['before', 'after'] as const).flatMap((loss) => [1, 2].map((nth) => ({ loss, nth }))))(
    'create, lost $loss transaction $nth, leaves nothing that counts',
    async ({ loss, nth }) => {
      const database = lose(nth, loss);
      const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
      expect(made.status).toBe(503);
      expect(database.back()).toBe(true);
      await allAgree();
      expect(await rows()).toEqual([]);
    },
  );

  it('an instance that ends meanwhile is removed from the records when the database is back', async () => {
    const sandbox = await create();
    const database = lose(1, 'before');
    await (await test.server.driver.adopt(sandbox.id))!.destroy();
    const killed = await test.api('DELETE', `/sandboxes/${sandbox.id}`);
    expect(killed.status).toBe(503);
    database.back();
    test.server.context.repairs.later(test.server.context.sandboxes.get(sandbox.id)!);
    await allAgree();
    expect(await rows()).toEqual([]);
  });

  it('an answer for an idempotency key is kept when the database is back', async () => {
    const { context } = test.server;
    const { db } = context;
    const real = db.updateTable.bind(db);
    db.updateTable = ((table: never) => {
      if (table === 'idempotency') throw new DatabaseLostError(new Error('the connection broke'));
      return real(table);
    }) as never;
    const create = () =>
      test.api('POST', '/v2/sandboxes', { templateID: 'base' }, { 'Idempotency-Key': 'outage' });
    const made = await create().finally(() => {
      db.updateTable = real as never;
    });
    expect(made.status).toBe(201);
    await allAgree();
    expect((await create()).body).toEqual(made.body);
    expect((await test.api('DELETE', `/sandboxes/${made.body.sandboxID}`)).status).toBe(204);
  });
});

import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { randomIds } from '../../src/config/ids.js';
import { attemptDelivery, leaseDelivery } from '../../src/webhooks/delivery/attempt.js';
import { createPoster } from '../../src/webhooks/delivery/post.js';
import { boundIdle, dispatchEvents, findDueDeliveries } from '../../src/webhooks/delivery/queue.js';
import { dialects } from '../support/storage.js';
import { type Context, type Received, team, WebhookFixture } from '../support/webhook-fixture.js';

const HOUR_MS = 3_600_000;

/** A promise that the test keeps when it wants to. */
function gate<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const numbers = (received: readonly Received[]) => received.map(({ event }) => event.event_data.n);

/** Dispatches, and takes the first delivery of a webhook. */
async function holdFirst(on: Context, webhookId: string) {
  await dispatchEvents(on);
  const [due] = await findDueDeliveries(on, webhookId, 1);
  return (await leaseDelivery(on, due!))!;
}

/** As though the time of all holds were over. */
const endHolds = (on: Context) =>
  on.db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: 0 })
    .where('status', '=', 'pending')
    .execute();

describe.each(dialects)('a dispatcher that slept, on %s', (dialect) => {
  let fixture: WebhookFixture;
  beforeEach(async () => {
    fixture = await WebhookFixture.open(dialect);
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  it('sends nothing that another one has sent meanwhile', async () => {
    const on = fixture.context();
    const { id } = await fixture.webhook(on);
    await fixture.emit(on, 2);
    const slept = await holdFirst(on, id);
    await endHolds(on);
    fixture.work(on);
    await eventually('both events from the other one', () => fixture.received.length === 2);
    let posts = 0;
    const poster = { post: async () => ({ ok: ++posts > 0 }), close: async () => {} };
    await attemptDelivery({ ...on, metrics: undefined, tracer: undefined }, poster, slept);
    expect(posts).toBe(0);
    expect(numbers(fixture.received)).toEqual([0, 1]);
  });

  it('sends no byte once its hold is about to end, though its connection is there', async () => {
    let clock = Date.now();
    const on = fixture.context({ now: () => clock });
    const { id } = await fixture.webhook(on);
    await fixture.emit(on, 2);
    const hold = await holdFirst(on, id);
    const poster = createPoster({ allowPrivateAddresses: true, timeoutMs: 5_000 });
    const late: typeof poster = {
      post: (url, headers, body, options) => {
        const mayStart = () => {
          clock += 11_000;
          return options.mayStart();
        };
        return poster.post(url, headers, body, { ...options, mayStart });
      },
      close: () => poster.close(),
    };
    await attemptDelivery({ ...on, metrics: undefined, tracer: undefined }, late, hold);
    await poster.close();
    expect(fixture.received).toEqual([]);
    fixture.work(on);
    await eventually('both events', () => fixture.received.length === 2);
    expect(numbers(fixture.received)).toEqual([0, 1]);
    const noted = on.db.selectFrom('webhook_attempts').select('attempt');
    await eventually('one attempt noted for each', async () => (await noted.execute()).length === 2);
  });
});

describe.each(dialects)('a webhook that does not answer, on %s', (dialect) => {
  it('keeps no other one waiting, however much is open for it', async () => {
    await using fixture = await WebhookFixture.open(dialect);
    const on = fixture.context({ timeoutMs: 600_000 });
    const silent = await fixture.webhook(on);
    const other = { ...team, id: randomIds.uuid() };
    await fixture.webhook(on, ['sandbox.lifecycle.created'], other);
    const asked: Received[] = [];
    const never = gate<undefined>();
    fixture.answer = (one) => {
      if (one.headers['svc-webhook-id'] !== silent.id) return 204;
      asked.push(one);
      return never.promise;
    };
    await fixture.emit(on, 500, { sandboxes: 500 });
    fixture.work(on);
    await eventually('what it may be asked at the same time', () => asked.length === 16);
    await fixture.emit(on, 20, { teamId: other.id });
    await eventually('all of the other team', () => fixture.received.length === 20);
    expect(numbers(fixture.received)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(asked).toHaveLength(16);
    never.resolve(undefined);
  });
});

describe.runIf(dialects.includes('postgres'))('events for webhooks, with two servers', () => {
  let fixture: WebhookFixture;
  let first: Context;
  let second: Context;
  beforeEach(async () => {
    fixture = await WebhookFixture.open('postgres');
    const store = await fixture.openStore();
    first = fixture.context({ retryDelaysMs: Array.from({ length: 50 }, () => 5) });
    second = { ...fixture.context({ store }), config: first.config };
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  const emitOne = (on: Context, sandboxId: string, n: number, before: () => Promise<void> = async () => {}) =>
    on.db.transaction().execute(async (tx) => {
      const id = randomIds.uuid();
      const event = { type: 'sandbox.lifecycle.created', teamId: team.id, sandboxId, data: { n } } as const;
      await on.events.emit(tx, { ...event, executionId: id, templateId: 'base', buildId: id });
      await before();
    });

  it('are numbered in the order of their commits for each sandbox', async () => {
    const emitted = gate<void>();
    const commit = gate<void>();
    const slow = emitOne(first, 'i1', 0, () => {
      emitted.resolve();
      return commit.promise;
    });
    await emitted.promise;
    const later = emitOne(second, 'i1', 1);
    await emitOne(second, 'i2', 2);
    await eventually('the later one waits', async () => {
      const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted
        and pid in (select pid from pg_stat_activity where query like '%"events"%')`.execute(first.db);
      return rows.length > 0;
    });
    commit.resolve();
    await Promise.all([slow, later]);
    const rows = await first.db.selectFrom('events').selectAll().orderBy('seq').execute();
    expect(rows.filter((row) => row.sandbox_id === 'i1').map((row) => row.data)).toEqual([
      '{"n":0}',
      '{"n":1}',
    ]);
  });

  it('arrive in order, whichever of them writes, dispatches and sends', async () => {
    await fixture.webhook(first);
    let asked = 0;
    fixture.answer = () => (++asked % 4 === 0 ? 503 : 204);
    for (const on of [first, second]) fixture.work(on);
    const sandboxes = ['i1', 'i2', 'i3'];
    const each = 20;
    let n = 0;
    for (let round = 0; round < each; round++)
      await Promise.all(
        sandboxes.flatMap((sandboxId) =>
          [first, second].map(async (on) => {
            await emitOne(on, sandboxId, n++);
            on.events.committed();
          }),
        ),
      );
    await eventually(
      'all of them',
      () => fixture.received.length >= sandboxes.length * each * 2 + asked / 4 - 1,
    );
    await eventually('that none is open', async () => {
      const open = first.db.selectFrom('webhook_deliveries').select('id').where('status', '=', 'pending');
      const left = first.db.selectFrom('events').select('seq').where('dispatched', '=', 0);
      return (await open.execute()).length + (await left.execute()).length === 0;
    });
    const rows = await first.db.selectFrom('events').select(['id', 'sandbox_id']).orderBy('seq').execute();
    for (const sandboxId of sandboxes) {
      const arrived = fixture.received
        .map(({ event }) => event)
        .filter((one) => one.sandbox_id === sandboxId);
      const committed = rows.filter((row) => row.sandbox_id === sandboxId).map(({ id }) => id);
      // Deliveries that were answered with 503 arrived too, and again later.
      expect([...new Set(arrived.map(({ id }) => id))]).toEqual(committed);
    }
  });

  it('wait for one that is frozen while it dispatches until PostgreSQL ends its transaction, and keep their order', async () => {
    await fixture.webhook(first);
    await fixture.emit(first, 2);
    const frozen = gate<void>();
    const locked = gate<void>();
    const dispatching = second.db.transaction().execute(async (tx) => {
      await boundIdle(tx, second);
      await tx.selectFrom('events').select('seq').orderBy('seq').limit(1).forUpdate().execute();
      locked.resolve();
      await frozen.promise;
      await tx.updateTable('events').set({ dispatched: 1 }).execute();
    });
    await locked.promise;
    fixture.work(first);
    await eventually('both events', () => fixture.received.length === 2);
    expect(numbers(fixture.received)).toEqual([0, 1]);
    frozen.resolve();
    await expect(dispatching).rejects.toThrow();
  });

  it('continue where one was killed with deliveries under way', async () => {
    const { id } = await fixture.webhook(first);
    await fixture.emit(first, 3, { sandboxes: 1 });
    const held = await holdFirst(second, id);
    expect(held.delivery.event_seq).toBeGreaterThan(0);
    fixture.work(first);
    await fixture.emit(first, 1, { type: 'sandbox.lifecycle.created', sandboxes: 1 });
    await endHolds(first);
    await eventually('all events', () => fixture.received.length === 4);
    expect(numbers(fixture.received)).toEqual([0, 1, 2, 0]);
  });

  it('find a delivery due by the clock of the database, however wrong that of a server is', async () => {
    const { id } = await fixture.webhook(first);
    await fixture.emit(first, 2);
    const held = await holdFirst(first, id);
    const ahead = { ...second, now: () => Date.now() + HOUR_MS };
    expect(await findDueDeliveries(ahead, id, 10)).toEqual([]);
    expect(held.mayStart()).toBe(true);
  });
});

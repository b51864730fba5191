import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { dropCopies } from '../../src/cluster/copies/drop-copies.js';
import { toJson } from '../../src/storage/json.js';
import { type MovingServers, startMovingServers, stayAlive } from '../support/moving-servers.js';
import { operate } from '../support/operate.js';
import { eventTypes } from '../support/sandboxes.js';
import { secondTeam } from '../support/second-team.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';

/** A promise, and what fulfils it. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe.skipIf(dialect === 'sqlite')('a server that empties itself', () => {
  let all: MovingServers;
  let first: TestServer;
  let second: TestServer;
  beforeAll(async () => {
    all = await startMovingServers(2, { server: { teamLimits: { maxConcurrentSandboxes: 4 } } });
    [first, second] = all.servers as [TestServer, TestServer];
  });
  afterAll(async () => all?.[Symbol.asyncDispose]());
  // One that fails leaves nothing to the next.
  afterEach(async () => {
    all.driverOf(second).beforeImport = async () => {};
    if (first.server.context.nodes.drain !== 'no' && !first.server.context.signal.aborted)
      await all.drain(first, 'no');
    const rows = await second.server.context.db.selectFrom('sandboxes').select('id').execute();
    for (const { id } of rows) await all.ask(second, 'DELETE', `/sandboxes/${id}`);
  });

  const db = () => second.server.context.db;
  const memoryOn = (server: TestServer, id: string) => all.driverOf(server).remembers.get(id);
  const counted = async () =>
    (await db().selectFrom('team_running').select('sandboxes').executeTakeFirst())?.sandboxes;
  const kill = async (...ids: string[]) => {
    for (const id of ids) expect((await all.ask(second, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
  };
  const createOnFirst = async (...words: string[]) => {
    const made: { id: string; token: string }[] = [];
    for (const word of words) made.push(await all.create(first, word));
    return made;
  };
  const emptied = () =>
    eventually('nothing is left to move', async () => {
      const moving = await all.moving(first);
      return moving !== undefined && moving.sandboxes + moving.templates === 0 ? moving : undefined;
    });
  const runsOn = (id: string, server: TestServer) =>
    eventually('it runs there', async () => {
      const row = await all.rowOf(id);
      return row.state === 'running' && row.node_id === all.idOf(server);
    });

  it('moves running sandboxes to other nodes, with the same end of life, and paused ones stay paused there', async () => {
    const made = await all.create(first, 'a word', { metadata: { of: 'mine' }, timeout: 3_000 });
    const paused = await all.create(first, 'another word');
    expect((await all.ask(first, 'POST', `/sandboxes/${paused.id}/pause`)).status).toBe(204);
    const before = await all.rowOf(made.id);
    await all.drain(first, 'move');
    await runsOn(made.id, second);
    expect(await emptied()).toEqual({ sandboxes: 0, templates: 0, stays: [], staysTotal: 0 });
    const after = await all.rowOf(made.id);
    expect(after).toMatchObject({ end_at: before.end_at, metadata: before.metadata, config: before.config });
    expect(memoryOn(first, made.id)).toBeUndefined();
    expect(memoryOn(second, made.id)).toBe('a word');
    const shown = await all.ask(first, 'GET', `/sandboxes/${made.id}`);
    expect(shown.body).toMatchObject({ state: 'running', metadata: { of: 'mine' } });
    expect((await all.ask(first, 'POST', `/v2/sandboxes/${made.id}/connect`, { timeout: 60 })).body).toEqual(
      expect.objectContaining({ envdAccessToken: made.token }),
    );
    expect(await all.rowOf(paused.id)).toMatchObject({ state: 'paused', node_id: all.idOf(second) });
    expect(await counted()).toBe(1);
    expect(await eventTypes(first, made.id)).toEqual(['created', 'paused', 'resumed', 'updated']);
    expect(await eventTypes(first, paused.id)).toEqual(['created', 'paused']);
    const acts = await db()
      .selectFrom('audit_entries')
      .select(['operation', 'actor_kind', 'actor_id'])
      .where('resource_id', '=', made.id)
      .where('actor_kind', '=', 'system')
      .orderBy('id')
      .execute();
    expect(acts).toEqual(
      ['pauseSandbox', 'resumeSandbox'].map((operation) => ({
        operation,
        actor_kind: 'system',
        actor_id: 'drain',
      })),
    );
    const woken = await all.ask(first, 'POST', `/v2/sandboxes/${paused.id}/connect`, { timeout: 60 });
    expect(woken.status).toBe(201);
    expect(memoryOn(second, paused.id)).toBe('another word');
    // Each removes what is another's by now, which it does by itself now and then.
    for (const { server } of all.servers) await dropCopies(server.context);
    expect(all.drivers.map(({ stored }) => [...stored.keys()])).toEqual([[], []]);
    await all.drain(first, 'no');
    await kill(made.id, paused.id);
  });

  it('counts what moves once in the limit of its team, all the way', async () => {
    const there = gate();
    all.driverOf(second).beforeImport = () => there.opened;
    const made = await createOnFirst('1', '2', '3', '4');
    const create = () => all.ask(second, 'POST', '/v2/sandboxes', { templateID: 'base' });
    await all.drain(first, 'move');
    await eventually('two are on their way', async () => {
      const rows = await Promise.all(made.map(({ id }) => all.rowOf(id)));
      return rows.filter(({ state }) => state === 'resuming').length === 2;
    });
    expect(await counted()).toBe(4);
    expect((await create()).status).toBe(429);
    there.open();
    for (const { id } of made) await runsOn(id, second);
    expect(await counted()).toBe(4);
    expect((await create()).status).toBe(429);
    await all.drain(first, 'no');
    await kill(...made.map(({ id }) => id));
    expect(await counted()).toBe(0);
  });

  it('stops when it is taken into use again: what has not begun stays', async () => {
    const there = gate();
    all.driverOf(second).beforeImport = () => there.opened;
    const made = await createOnFirst('1', '2', '3');
    await all.drain(first, 'move');
    await eventually('two are on their way', async () => {
      const rows = await Promise.all(made.map(({ id }) => all.rowOf(id)));
      return rows.filter(({ state }) => state === 'resuming').length === 2;
    });
    await all.drain(first, 'no');
    there.open();
    await eventually('all run', async () => {
      const rows = await Promise.all(made.map(({ id }) => all.rowOf(id)));
      return rows.every(({ state }) => state === 'running');
    });
    const homes = await Promise.all(made.map(async ({ id }) => (await all.rowOf(id)).node_id));
    expect(homes.filter((home) => home === all.idOf(first))).toHaveLength(1);
    expect(await all.moving(first)).toBeUndefined();
    all.driverOf(second).beforeImport = async () => {};
    await kill(...made.map(({ id }) => id));
  });

  it('resumes a sandbox where it was when the other server cannot take it, and reports why', async () => {
    all.driverOf(second).beforeImport = async () => {
      throw new Error('a disk broke');
    };
    const { id } = await all.create(first, 'kept');
    await all.drain(first, 'move');
    const moving = await emptied();
    expect(moving.stays).toEqual([
      {
        kind: 'sandbox',
        id,
        reason: expect.stringContaining(`no other server can take it (server ${all.idOf(second)}`),
      },
    ]);
    await runsOn(id, first);
    expect(memoryOn(first, id)).toBe('kept');
    expect(await counted()).toBe(1);
    await all.drain(first, 'no');
    await kill(id);
  });

  it('stops no sandbox that no other server could resume', async () => {
    const { id } = await all.create(first, 'kept');
    const before = await all.rowOf(id);
    all.driverOf(second).machine = { arch: 'arm64', kernel: '6.1.0', cpuFeatures: [] };
    await eventually('the other machine is known', async () =>
      (await first.server.context.fleet.places()).some(
        ({ place }) => place.report?.machine?.arch === 'arm64',
      ),
    );
    await all.drain(first, 'move');
    expect((await emptied()).stays).toEqual([
      { kind: 'sandbox', id, reason: expect.stringContaining('this machine has arm64') },
    ]);
    expect(await all.rowOf(id)).toEqual(before);
    all.driverOf(second).machine = all.driverOf(first).machine;
    // It is tried again by itself.
    await runsOn(id, second);
    await all.drain(first, 'no');
    await kill(id);
  });

  it('keeps what mounts volumes, and volumes, and says so', async () => {
    const { id } = await all.create(first, 'kept');
    const row = await all.rowOf(id);
    const mounts = [{ name: 'v', path: '/v', volumeId: 'vol' }];
    const config = toJson({ ...JSON.parse(row.config as string), mounts });
    await db().updateTable('sandboxes').set({ config }).where('id', '=', id).execute();
    await db()
      .insertInto('volumes')
      .values({
        id: 'vol',
        team_id: row.team_id,
        name: 'v',
        created_at: 0,
        node_id: all.idOf(first),
      } as never)
      .execute();
    await all.drain(first, 'move');
    expect((await emptied()).stays).toEqual([
      { kind: 'sandbox', id, reason: 'it mounts volumes of this server' },
      { kind: 'volume', id: 'vol', reason: 'volumes stay on the server that has them' },
    ]);
    await all.drain(first, 'no');
    await kill(id);
    await db().deleteFrom('volumes').where('id', '=', 'vol').execute();
  });

  it('does for a request of any kind what it is for, once the sandbox has moved', async () => {
    const there = gate();
    all.driverOf(second).beforeImport = () => there.opened;
    const killed = await all.create(first, 'killed');
    const kept = await all.create(first, 'kept');
    await all.drain(first, 'move');
    await eventually('they are on their way', async () => {
      const rows = await Promise.all([killed, kept].map(({ id }) => all.rowOf(id)));
      return rows.every(({ state }) => state === 'resuming');
    });
    const asked = all.servers.flatMap((server) => [
      all.ask(server, 'POST', `/sandboxes/${kept.id}/timeout`, { timeout: 900 }),
      all.ask(server, 'POST', `/v2/sandboxes/${kept.id}/connect`, { timeout: 900 }),
      all.ask(server, 'DELETE', `/sandboxes/${killed.id}`),
    ]);
    there.open();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    // One of the two that kill it comes second.
    expect([...statuses.slice(0, 2), ...statuses.slice(3, 5)]).toEqual([204, 200, 204, 200]);
    expect([statuses[2], statuses[5]]).toContain(204);
    for (const status of [statuses[2], statuses[5]]) expect([204, 404]).toContain(status);
    await runsOn(kept.id, second);
    expect((await all.ask(first, 'GET', `/sandboxes/${killed.id}`)).status).toBe(404);
    await all.drain(first, 'no');
    await kill(kept.id);
  });

  it('gives sandboxes of one team to other servers alone, for any client', async () => {
    const { id } = await all.create(first, 'kept');
    expect((await all.ask(first, 'POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    const { version } = await all.rowOf(id);
    const stranger = await secondTeam(first, 'strangers');
    for (const headers of [{}, stranger.headers])
      for (const path of [
        `/node/sandboxes/${id}/take?version=${version}&stays=1`,
        '/node/builds/00000000-0000-0000-0000-000000000000/take',
      ])
        expect((await all.ask(second, 'POST', path, undefined, headers)).status).toBe(404);
    expect(await all.rowOf(id)).toMatchObject({ node_id: all.idOf(first), version });
    await kill(id);
  });

  it.each([
    ['while it stored', 'pausing'],
    ['while others were asked', 'resuming'],
  ] as const)('lets a sandbox go on after it was killed %s', async (_, state) => {
    const { id } = await all.create(first, 'survives');
    expect((await all.ask(first, 'POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    const row = await all.rowOf(id);
    await first.server.stop({ destroySandboxes: false });
    // State that a killed mover leaves.
    const config = toJson({ ...JSON.parse(row.config as string), moving: true });
    await second.server.context.db
      .updateTable('sandboxes')
      .set({ state, config })
      .where('id', '=', id)
      .execute();
    await first.restart();
    await stayAlive([first]);
    await runsOn(id, first);
    expect(memoryOn(first, id)).toBe('survives');
    expect(await all.rowOf(id)).toMatchObject({ end_at: row.end_at, config: row.config });
    expect(await counted()).toBe(1);
    await kill(id);
  });

  it('can be removed once it has stopped: snapshots and templates have another home', async () => {
    const { id } = await all.create(first, 'in a snapshot');
    const snapshot = await all.ask(first, 'POST', `/sandboxes/${id}/snapshots`, {});
    expect(snapshot.status).toBe(201);
    const build = await db()
      .selectFrom('template_builds')
      .selectAll()
      .where('checkpoint_id', 'is not', null)
      .executeTakeFirstOrThrow();
    all.driverOf(first).stored.set('layer/l1', 'a layer');
    await db()
      .insertInto('template_builds')
      .values({ ...build, id: 'layered', checkpoint_id: null, layers: toJson(['l1']) })
      .execute();
    await all.drain(first, 'move');
    expect(await emptied()).toMatchObject({ stays: [], staysTotal: 0 });
    const homes = await db()
      .selectFrom('template_builds')
      .select('node_id')
      .where('id', 'in', [build.id, 'layered'])
      .execute();
    expect(homes).toEqual([{ node_id: all.idOf(second) }, { node_id: all.idOf(second) }]);
    expect(all.driverOf(second).stored.get('layer/l1')).toBe('a layer');
    await runsOn(id, second);
    await first.server.stop({ destroySandboxes: false });
    const removed = await operate(second.server, 'DELETE', `/nodes/${all.idOf(first)}`);
    expect(removed).toEqual({ status: 204, body: undefined });
    const made = await all.shared.ask(second, 'POST', '/v2/sandboxes', {
      templateID: snapshot.body.snapshotID,
    });
    expect(made.status).toBe(201);
    expect(memoryOn(second, made.body.sandboxID)).toBe('in a snapshot');
    await kill(id, made.body.sandboxID);
  });
});

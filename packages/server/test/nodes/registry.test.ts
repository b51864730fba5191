import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { NodeRegistry, SILENCE_MS } from '../../src/cluster/nodes/registry.js';
import type { Database } from '../../src/storage/schema.js';
import { dialect } from '../support/server-storage.js';
import { createTestStorage, type TestStorage } from '../support/storage.js';

describe.skipIf(dialect === 'sqlite')('nodes on one PostgreSQL', () => {
  let stored: TestStorage;
  let db: Database;
  beforeAll(async () => {
    stored = await createTestStorage('postgres');
    ({ db } = await stored.open());
  });
  afterAll(async () => {
    await db?.destroy();
    await stored?.remove();
  });

  /** A node whose clock is wrong by `skewMs`, and stands still until the test moves it. */
  const node = (nodeId: string, skewMs = 0) => {
    const clock = { ms: Date.now() + skewMs };
    return { clock, registry: new NodeRegistry({ db, nodeId, epoch: 0, shared: true, now: () => clock.ms }) };
  };
  const announce = async (registry: NodeRegistry) => {
    await db
      .insertInto('nodes')
      .values({ id: registry.nodeId, api_url: '', sandbox_url: '', heartbeat_at: 0 })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    await registry.announce(`http://${registry.nodeId}:1`, `http://${registry.nodeId}:2`);
  };
  /** Announces a node whose heartbeat stays young, however long the test takes. */
  const announceForLong = async (registry: NodeRegistry) => {
    await announce(registry);
    await age(registry.nodeId, -3_600_000);
  };
  /** Makes the last heartbeat of a node look so old, by the clock of the database. */
  const age = (nodeId: string, ms: number) =>
    db
      .updateTable('nodes')
      .set({ heartbeat_at: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint - ${ms}` })
      .where('id', '=', nodeId)
      .execute();

  it('see each other whose clocks are wrong by hours', async () => {
    const nodes = [node('right'), node('early', -7_200_000), node('late', 7_200_000)];
    // Again and again, as heartbeats come: on a busy machine one may be old before it is read.
    for (const { registry } of nodes)
      for (const { registry: other } of nodes)
        await eventually(`${registry.nodeId} sees ${other.nodeId}`, async () => {
          await announce(other);
          return (await registry.findAlive(other.nodeId))?.apiUrl === `http://${other.nodeId}:1`;
        });
  });

  it('consider one that fell silent dead, with any clocks of their own', async () => {
    await announce(node('silent').registry);
    await age('silent', SILENCE_MS + 60_000);
    for (const skewMs of [0, -7_200_000, 7_200_000])
      expect(await node('asks', skewMs).registry.findAlive('silent')).toBeUndefined();
  });

  it('find one that was unknown, silent or removed a moment ago as soon as it is there', async () => {
    const { registry } = node('asks');
    const comes = node('comes').registry;
    expect(await registry.findAlive('comes')).toBeUndefined();
    await announceForLong(comes);
    expect(await registry.findAlive('comes')).toMatchObject({ id: 'comes' });

    const returns = node('returns').registry;
    await announceForLong(returns);
    await returns.leave();
    expect(await registry.findAlive('returns')).toBeUndefined();
    await announceForLong(returns);
    expect(await registry.findAlive('returns')).toMatchObject({ id: 'returns' });
  });

  it('notice within a second that one left', async () => {
    const { registry, clock } = node('asks');
    const leaves = node('leaves').registry;
    await announceForLong(leaves);
    expect(await registry.findAlive('leaves')).toBeDefined();
    await leaves.leave();
    clock.ms += 1_000;
    expect(await registry.findAlive('leaves')).toBeUndefined();
  });
});

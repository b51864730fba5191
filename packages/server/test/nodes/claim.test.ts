import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimNode } from '../../src/cluster/nodes/claim.js';
import { databaseNow, NodeRegistry } from '../../src/cluster/nodes/registry.js';
import type { Database } from '../../src/storage/schema.js';
import { dialect } from '../support/server-storage.js';
import { createTestStorage, type TestStorage } from '../support/storage.js';

describe.skipIf(dialect === 'sqlite')('the name of a node', () => {
  let stored: TestStorage;
  let db: Database;
  let root: string;
  beforeAll(async () => {
    stored = await createTestStorage('postgres');
    ({ db } = await stored.open());
    root = await mkdtemp(path.join(tmpdir(), 'svc-claim-'));
  });
  afterAll(async () => {
    await db?.destroy();
    await stored?.remove();
    if (root !== undefined) await rm(root, { recursive: true });
  });

  const directory = async (name: string) => {
    const dataDir = path.join(root, name);
    await mkdir(dataDir);
    return dataDir;
  };
  const beat = (nodeId: string, epoch: number) =>
    new NodeRegistry({ db, nodeId, epoch, shared: true, now: Date.now }).announce('http://a', 'http://b');

  it('is taken again at once by the next process of the same directory, which fences the one before', async () => {
    const dataDir = await directory('again');
    const first = await claimNode({ db, nodeId: 'again', dataDir });
    await beat('again', first);
    const second = await claimNode({ db, nodeId: 'again', dataDir });
    expect([first, second]).toEqual([1, 2]);
    await beat('again', second);
    await expect(beat('again', first)).rejects.toThrow(/another process has taken its name/);
    const before = new NodeRegistry({ db, nodeId: 'again', epoch: first, shared: true, now: Date.now });
    await expect(db.transaction().execute((tx) => before.assertOwned(tx))).rejects.toThrow(/taken its name/);
    expect(before.taken).toBe(true);
    const rows = await db
      .selectFrom('nodes')
      .select('id')
      .where('id', '=', 'again')
      .where(before.fence())
      .execute();
    expect(rows).toEqual([]);
  });

  it('is refused to a copy of the directory while the first one lives', async () => {
    const dataDir = await directory('original');
    const epoch = await claimNode({ db, nodeId: 'copied', dataDir });
    await beat('copied', epoch);
    const copy = path.join(root, 'copy');
    await cp(dataDir, copy, { recursive: true });
    let ended = false;
    const refused = claimNode({ db, nodeId: 'copied', dataDir: copy }).finally(() => {
      ended = true;
    });
    refused.catch(() => {});
    // As the first one does, until the copy has seen that somebody lives.
    while (!ended) await beat('copied', epoch);
    await expect(refused).rejects.toThrow(/runs on another machine or in another data directory.*node-id/s);
    expect(await claimNode({ db, nodeId: 'copied', dataDir })).toBe(2);
  });

  it('is refused to the first one when a copy was started meanwhile, unless an option allows it', async () => {
    const dataDir = await directory('stale');
    await claimNode({ db, nodeId: 'stale', dataDir });
    const copy = path.join(root, 'stale-copy');
    await cp(dataDir, copy, { recursive: true });
    expect(await claimNode({ db, nodeId: 'stale', dataDir: copy })).toBe(2);
    await expect(claimNode({ db, nodeId: 'stale', dataDir })).rejects.toThrow(/node-epoch/);
    await rm(path.join(dataDir, 'node-epoch'));
    expect(await claimNode({ db, nodeId: 'stale', dataDir })).toBe(3);
    expect(await readFile(path.join(dataDir, 'node-epoch'), 'utf8')).toMatch(/^3 /);
  });

  it('waits after a restart of the machine until the heartbeat of before is old', async () => {
    const dataDir = await directory('rebooted');
    const epoch = await claimNode({ db, nodeId: 'rebooted', dataDir, bootId: 'before' });
    await beat('rebooted', epoch);
    let claimed = false;
    const next = claimNode({ db, nodeId: 'rebooted', dataDir, bootId: 'after' }).then((found) => {
      claimed = true;
      return found;
    });
    const { heartbeat_at: last } = await db
      .selectFrom('nodes')
      .select('heartbeat_at')
      .where('id', '=', 'rebooted')
      .executeTakeFirstOrThrow();
    expect(await next).toBe(2);
    expect(claimed).toBe(true);
    const { now } = await db.selectNoFrom(databaseNow.as('now')).executeTakeFirstOrThrow();
    expect(Number(now) - last).toBeGreaterThan(10_000);
  });

  it('goes to one of two processes that start at the same time', async () => {
    const dataDirs = [await directory('left'), await directory('right')];
    const epochs = await Promise.all(dataDirs.map((dataDir) => claimNode({ db, nodeId: 'both', dataDir })));
    expect(epochs.sort()).toEqual([1, 2]);
    await expect(beat('both', 1)).rejects.toThrow(/taken its name/);
    expect(await beat('both', 2)).toEqual({ wasSilent: false });
  });
});

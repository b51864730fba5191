import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../storage/schema.js';
import { databaseNow, NodeNameTakenError, SILENCE_MS } from './registry.js';

/** Interval of checks of the heartbeat of a process that may still live, ms. */
const LOOK_MS = 500;

/** The record of the last start in the data directory. */
interface LastStart {
  epoch: number;
  /** The run of the kernel, and the directory itself: a copy has another one. */
  place: string;
}

/**
 * Takes the name of a node for this process: the process that had it before may write nothing any more. The caller has the lock of
 * the data directory.
 *
 * A process that was started from this very directory under this kernel is dead, as the lock is ours. Otherwise the
 * machine may have been started again, or this directory may be a copy: then nobody with the name must have a heartbeat.
 * @returns the epoch of this start
 * @throws {NodeNameTakenError}
 */
export async function claimNode(options: {
  db: Database;
  nodeId: string;
  dataDir: string;
  /** Default: that of the kernel. */
  bootId?: string;
}): Promise<number> {
  const { db, nodeId, dataDir } = options;
  const file = path.join(dataDir, 'node-epoch');
  const last = await readLastStart(file);
  const place = await placeOf(dataDir, options.bootId);
  if (last?.place !== place) await waitForSilence(db, nodeId);
  return db.transaction().execute(async (tx) => {
    await tx
      .insertInto('nodes')
      .values({ id: nodeId, api_url: '', sandbox_url: '', heartbeat_at: 0 })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    // Waits for what the one before is about to add.
    const { epoch: known } = await tx
      .selectFrom('nodes')
      .select('epoch')
      .where('id', '=', nodeId)
      .forUpdate()
      .executeTakeFirstOrThrow();
    if (last !== undefined && last.epoch < known) throw new NodeNameTakenError(nodeId, 'copy');
    const epoch = Math.max(known, last?.epoch ?? 0) + 1;
    // First the file: when the commit fails, it is ahead, which is no sign of a copy.
    await writeLastStart(file, { epoch, place });
    await tx.updateTable('nodes').set({ epoch }).where('id', '=', nodeId).execute();
    return epoch;
  });
}

/** Settles once a node has no young heartbeat. @throws {NodeNameTakenError} when it gets another one */
async function waitForSilence(db: Database, nodeId: string): Promise<void> {
  let first: number | undefined;
  for (;;) {
    const row = await db
      .selectFrom('nodes')
      .select(['heartbeat_at', sql<number>`${databaseNow} - heartbeat_at`.as('age')])
      .where('id', '=', nodeId)
      .executeTakeFirst();
    if (row === undefined || Number(row.age) > SILENCE_MS) return;
    first ??= row.heartbeat_at;
    if (row.heartbeat_at !== first) throw new NodeNameTakenError(nodeId, 'alive');
    await delay(LOOK_MS);
  }
}

async function placeOf(dataDir: string, bootId: string | undefined): Promise<string> {
  const boot =
    bootId ??
    (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
      (text) => text.trim(),
      () => 'unknown',
    ));
  const { dev, ino } = await stat(dataDir);
  return `${boot} ${dev}:${ino}`;
}

async function readLastStart(file: string): Promise<LastStart | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const found = /^(\d{1,15}) (.+)\n$/.exec(text);
  return found === null ? undefined : { epoch: Number(found[1]), place: found[2]! };
}

async function writeLastStart(file: string, { epoch, place }: LastStart): Promise<void> {
  await writeFile(`${file}.new`, `${epoch} ${place}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

import { type ExpressionBuilder, sql } from 'kysely';
import type { Team } from '../auth/team.js';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import type { Database, Schema, Tx } from '../storage/schema.js';

/** States that count as running against limits. */
const countsAsRunning = ['creating', 'running', 'pausing', 'snapshotting', 'resuming'] as const;

/**
 * Takes a place among the sandboxes that this server runs, for one that is about to. Taken at once, so that of several
 * at the same time none slips past the limit.
 * @returns gives the place back; to be called once the sandbox's row counts by itself, or its start failed.
 * @throws {ApiError} 503 when this server runs as many sandboxes as it may
 */
export function takePlace(context: Uses<'config' | 'sandboxes'>): () => void {
  const { sandboxes, config } = context;
  if (activeSandboxes(context) >= config.maxSandboxes)
    throw errors.capacityUnavailable(`this server runs ${config.maxSandboxes} sandboxes, its most`);
  sandboxes.starting += 1;
  let held = true;
  return () => {
    if (held) sandboxes.starting -= 1;
    held = false;
  };
}

/** How many sandboxes this server runs or is about to. */
export function activeSandboxes({ sandboxes }: Uses<'sandboxes'>): number {
  let active = sandboxes.starting;
  for (const live of sandboxes.values()) if (live.row.state !== 'paused') active += 1;
  return active;
}

/**
 * Refuses when the team runs as many sandboxes as it may, or has no memory left for one more. Part of the transaction that
 * adds it, so that several at once, on whichever servers, cannot all slip through.
 * @param asking what is about to run. When its row says already that it does, it does not stand in its own way.
 * @throws {ApiError} 429
 */
export async function assertTeamRoom(
  context: Uses<'dialect'>,
  tx: Tx,
  team: Team,
  asking: { id: string; memory_mb: number },
): Promise<void> {
  if (context.dialect === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtext(${team.id}))`.execute(tx);
  const running = runningOf(tx, team.id).where('id', '!=', asking.id);
  const { maxConcurrentSandboxes, maxTotalMemoryMiB } = team.limits;
  // An index alone tells the number; for the memory every row is read, which those without a limit are spared.
  const { count } = await running.select(countRows).executeTakeFirstOrThrow();
  if (Number(count) >= maxConcurrentSandboxes) throw errors.tooManySandboxes(maxConcurrentSandboxes);
  if (maxTotalMemoryMiB === undefined) return;
  const { memory } = await running.select(sumMemory).executeTakeFirstOrThrow();
  const usedMiB = Number(memory ?? 0);
  if (usedMiB + asking.memory_mb > maxTotalMemoryMiB)
    throw errors.teamMemoryFull({ usedMiB, askedMiB: asking.memory_mb, limitMiB: maxTotalMemoryMiB });
}

/** How many sandboxes of a team run, on all servers, and what they may use together. */
export async function teamRunning(
  db: Database,
  teamId: string,
): Promise<{ sandboxes: number; memoryMiB: number }> {
  const row = await runningOf(db, teamId)
    .select((build) => [countRows(build), sumMemory(build)])
    .executeTakeFirstOrThrow();
  return { sandboxes: Number(row.count), memoryMiB: Number(row.memory ?? 0) };
}

const runningOf = (db: Database | Tx, teamId: string) =>
  db
    .selectFrom('sandboxes')
    .where('team_id', '=', teamId)
    .where('state', 'in', [...countsAsRunning]);

type Build = ExpressionBuilder<Schema, 'sandboxes'>;
const countRows = (build: Build) => build.fn.countAll<number>().as('count');
const sumMemory = (build: Build) => build.fn.sum<number | null>('memory_mb').as('memory');

import { sql } from 'kysely';
import type { Team } from '../auth/team.js';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import type { Tx } from '../storage/schema.js';

/** States that count as running against limits. */
export const countsAsRunning = ['creating', 'running', 'pausing', 'snapshotting', 'resuming'] as const;

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
 * Refuses when the team runs as many sandboxes as it may. Part of the transaction that adds one, so that several at
 * once cannot all slip through.
 * @param except the sandbox that is about to run, when its row says so already: it does not stand in its own way.
 * @throws {ApiError} 429
 */
export async function assertTeamConcurrency(
  context: Uses<'dialect'>,
  tx: Tx,
  team: Team,
  except = '',
): Promise<void> {
  if (context.dialect === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtext(${team.id}))`.execute(tx);
  const { count } = await tx
    .selectFrom('sandboxes')
    .select((build) => build.fn.countAll<number>().as('count'))
    .where('team_id', '=', team.id)
    .where('state', 'in', [...countsAsRunning])
    .where('id', '!=', except)
    .executeTakeFirstOrThrow();
  if (Number(count) >= team.limits.maxConcurrentSandboxes)
    throw errors.tooManySandboxes(team.limits.maxConcurrentSandboxes);
}

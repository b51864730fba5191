import { sql } from 'kysely';
import type { ServerContext } from '../context.js';
import { errors } from '../errors/catalog.js';
import type { Tx } from '../storage/schema.js';
import type { Team } from '../teams/team.js';

/** States that count as running against limits. */
const ACTIVE = ['creating', 'running', 'pausing', 'snapshotting', 'resuming'] as const;

/** Refuses when this server runs as many sandboxes as it may. @throws {ApiError} 503 */
export function assertServerCapacity(context: ServerContext): void {
  let active = 0;
  for (const live of context.sandboxes.values())
    if (live.row.state !== 'paused' || live.transition?.kind === 'resuming') active += 1;
  if (active >= context.config.maxSandboxes) throw errors.capacityUnavailable('the server is at capacity');
}

/**
 * Refuses when the team runs as many sandboxes as it may. Part of the transaction that adds one, so that several at
 * once cannot all slip through.
 * @param except the sandbox that is about to run, when its row says so already: it does not stand in its own way.
 * @throws {ApiError} 429
 */
export async function assertTeamConcurrency(
  context: ServerContext,
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
    .where('state', 'in', [...ACTIVE])
    .where('id', '!=', except)
    .executeTakeFirstOrThrow();
  if (Number(count) >= team.limits.maxConcurrentSandboxes)
    throw errors.tooManySandboxes(team.limits.maxConcurrentSandboxes);
}

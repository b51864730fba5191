import type { Team } from '../../api/auth/team-store.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import type { Database, Tx } from '../../storage/schema.js';

/**
 * Refuses when the team runs more sandboxes than it may, or they may use more memory. To be called in the transaction in which
 * the row of the sandbox began to count, which several at once, on whichever servers, do one after another. As late as
 * possible: the others wait until that transaction is through.
 * @param asking what is about to run
 * @throws {ApiError} 429
 */
export async function assertTeamRoom(tx: Tx, team: Team, asking: { memory_mb: number }): Promise<void> {
  assertWithinLimits(team, await teamRunning(tx, team.id), asking);
}

/**
 * Forecasts how many more sandboxes a team may run now, and the refusal of the others. It saves work for nothing; the decision is
 * `assertTeamRoom`.
 * @param count how many are asked for
 */
export async function forecastTeamRoom(
  db: Database,
  team: Team,
  { count, memory_mb }: { count: number; memory_mb: number },
): Promise<{ fitting: number; refusal: ApiError | undefined }> {
  const running = await teamRunning(db, team.id);
  for (let fitting = 0; fitting < count; fitting += 1) {
    running.sandboxes += 1;
    running.memoryMiB += memory_mb;
    try {
      assertWithinLimits(team, running, { memory_mb });
    } catch (error) {
      if (ApiError.is(error)) return { fitting, refusal: error };
      throw error;
    }
  }
  return { fitting: count, refusal: undefined };
}

function assertWithinLimits(
  team: Team,
  running: { sandboxes: number; memoryMiB: number },
  asking: { memory_mb: number },
): void {
  const { maxConcurrentSandboxes, maxTotalMemoryMiB } = team.limits;
  if (running.sandboxes > maxConcurrentSandboxes) throw errors.tooManySandboxes(maxConcurrentSandboxes);
  if (maxTotalMemoryMiB === undefined || running.memoryMiB <= maxTotalMemoryMiB) return;
  throw errors.teamMemoryFull({
    usedMiB: running.memoryMiB - asking.memory_mb,
    askedMiB: asking.memory_mb,
    limitMiB: maxTotalMemoryMiB,
  });
}

/** Counts the running sandboxes of a team on all servers, and the memory that they may use together. */
export async function teamRunning(
  db: Database | Tx,
  teamId: string,
): Promise<{ sandboxes: number; memoryMiB: number }> {
  const row = await db
    .selectFrom('team_running')
    .select(['sandboxes', 'memory_mb'])
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  return { sandboxes: row?.sandboxes ?? 0, memoryMiB: row?.memory_mb ?? 0 };
}

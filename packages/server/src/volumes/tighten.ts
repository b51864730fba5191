import type { Uses } from '../cluster/context.js';
import { mountedVolumes } from '../sandboxes/state/config.js';
import { storageUse, totalOf } from '../teams/quota/storage-use.js';

const MIB = 2 ** 20;
/** Share of a team's disk below which nothing is looked at. */
const CALM = 0.5;

/**
 * Sets the limits of mounted volumes anew, for teams that use most of their disk: each volume was given what the team had left
 * when it was mounted, and programs fill several at once.
 */
export async function tightenVolumes(
  context: Uses<'db' | 'driver' | 'sandboxes' | 'teams' | 'volumes'>,
): Promise<void> {
  const mounted = [...mountedVolumes(context.sandboxes)];
  if (mounted.length === 0) return;
  const rows = await context.db
    .selectFrom('volumes')
    .innerJoin('teams', 'teams.id', 'volumes.team_id')
    .selectAll('teams')
    .select('volumes.id as volume_id')
    .where('volumes.id', 'in', mounted)
    .execute();
  for (const [teamId, ofTeam] of byTeam(rows)) {
    const { limits } = context.teams.toTeam(ofTeam[0]!);
    const used = totalOf(await storageUse(context, teamId));
    if (used < limits.maxStorageMiB * MIB * CALM) continue;
    for (const { volume_id: id } of ofTeam) await context.volumes.prepare(id);
  }
}

function byTeam<Row extends { id: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.id, [...(groups.get(row.id) ?? []), row]);
  return groups;
}

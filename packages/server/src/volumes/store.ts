import type { Volumes } from '@svc/runtime/contract';
import type { VolumeStore } from '../api/context/context.js';
import type { Uses } from '../cluster/context.js';
import type { TeamLimits } from '../config/team-limits.js';
import { mountedVolumes } from '../sandboxes/state/config.js';
import { storageUse, totalOf } from '../teams/quota/storage-use.js';

interface VolumeStoreOptions {
  volumes: Volumes;
  /** True when a sandbox of this server, running or about to run, has a volume mounted. */
  isMounted(volumeId: string): boolean;
  /** True when a team has the volume. */
  exists(volumeId: string): Promise<boolean>;
  /** Most that a volume may hold; undefined for one that no team has. */
  limitMiB(volumeId: string): Promise<number | undefined>;
}

export function createVolumeStore({ volumes, isMounted, exists, limitMiB }: VolumeStoreOptions): VolumeStore {
  const store: VolumeStore = {
    async prepare(volumeId) {
      const limit = await limitMiB(volumeId);
      await volumes.make(volumeId, limit === undefined ? {} : { limitMiB: limit });
    },
    async content(volumeId) {
      await store.prepare(volumeId);
      return volumes.content(volumeId);
    },
    async usedBytes(volumeId) {
      return (await volumes.usedBytes(volumeId)) ?? 0;
    },
    async discard(volumeId) {
      if (!isMounted(volumeId)) await volumes.delete(volumeId);
    },
    async emptyTrash() {
      for (const volumeId of await volumes.list()) {
        // A record is made before its directory, so one without was deleted.
        if (!isMounted(volumeId) && !(await exists(volumeId))) await volumes.delete(volumeId);
      }
    },
  };
  return store;
}

const MIB = 2 ** 20;
/** Limits change in steps, so that not every byte that is written somewhere sets a new one. */
const STEP_MIB = 64;

/**
 * Most that a volume may hold when it is next used: what its team may have in one volume, and no more than what is left
 * of the team's disk. Undefined for one that no team has.
 */
export async function volumeLimitMiB(
  context: Uses<'db' | 'driver' | 'teams' | 'volumes'>,
  volumeId: string,
): Promise<number | undefined> {
  const row = await context.db
    .selectFrom('volumes')
    .innerJoin('teams', 'teams.id', 'volumes.team_id')
    .selectAll('teams')
    .where('volumes.id', '=', volumeId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { limits } = context.teams.toTeam(row);
  const used = totalOf(await storageUse(context, row.id));
  return limitOf(limits, used / MIB, (await context.volumes.usedBytes(volumeId)) / MIB);
}

export async function volumeExists({ db }: Uses<'db'>, volumeId: string): Promise<boolean> {
  const row = await db.selectFrom('volumes').select('id').where('id', '=', volumeId).executeTakeFirst();
  return row !== undefined;
}

/** @param usedMiB of the team in all. @param ownMiB of this volume. */
export function limitOf(
  limits: Pick<TeamLimits, 'maxStorageMiB' | 'maxVolumeMiB'>,
  usedMiB: number,
  ownMiB: number,
): number {
  const left = limits.maxStorageMiB - usedMiB + ownMiB;
  const steps = Math.floor(left / STEP_MIB) * STEP_MIB;
  return Math.max(1, Math.min(limits.maxVolumeMiB, Math.max(steps, Math.floor(ownMiB))));
}

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

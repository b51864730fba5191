import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import { isoTime } from '../api/wire/time.js';
import type { TemplateRow } from '../sandboxes/records/find-template.js';
import type { TemplateBuildsTable } from '../storage/schema.js';
import type { TemplateNames } from './names.js';

export type BuildRow = Selectable<TemplateBuildsTable>;

const NO_NAMES: TemplateNames = { aliases: [], names: [] };

/** Entry of the lists: a template with the facts of its newest build. */
export function templateToWire(
  row: TemplateRow,
  newest: BuildRow,
  names: TemplateNames = NO_NAMES,
): components['schemas']['Template'] {
  return {
    templateID: row.id,
    buildID: newest.id,
    cpuCount: newest.cpu_count,
    memoryMB: newest.memory_mb,
    diskSizeMB: newest.disk_mb,
    public: row.public === 1,
    aliases: names.aliases,
    names: names.names,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    createdBy: null,
    lastSpawnedAt: row.last_spawned_at === null ? null : isoTime(row.last_spawned_at),
    spawnCount: row.spawn_count,
    buildCount: row.build_count,
    envdVersion: newest.envd_version ?? '',
    buildStatus: newest.status,
  };
}

export function buildToWire(row: BuildRow): components['schemas']['TemplateBuild'] {
  return {
    buildID: row.id,
    status: row.status,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    ...(row.finished_at === null ? {} : { finishedAt: isoTime(row.finished_at) }),
    cpuCount: row.cpu_count,
    memoryMB: row.memory_mb,
    diskSizeMB: row.disk_mb,
    ...(row.envd_version === null ? {} : { envdVersion: row.envd_version }),
  };
}

export function templateWithBuildsToWire(
  row: TemplateRow,
  builds: readonly BuildRow[],
  names: TemplateNames,
): components['schemas']['TemplateWithBuilds'] {
  return {
    templateID: row.id,
    public: row.public === 1,
    aliases: names.aliases,
    names: names.names,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    lastSpawnedAt: row.last_spawned_at === null ? null : isoTime(row.last_spawned_at),
    spawnCount: row.spawn_count,
    builds: builds.map(buildToWire),
  };
}

import type { components } from '@svc/platform';
import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import type { TeamLimits } from '../config/team-limits.js';
import type { TemplateRow } from '../sandboxes/records/find-template.js';
import { isUniqueViolation } from '../storage/database-errors.js';
import { newBuildRow, newTemplateRow } from '../storage/new-template-rows.js';
import type { Tx } from '../storage/schema.js';
import type { Uses } from './context.js';
import { refuseSystem } from './find-own.js';
import { namesOfOne } from './names.js';
import { parseOwnReference, tagsOfBuild } from './own-reference.js';
import { buildsWithTags, markSuperseded } from './supersede.js';
import { putTags } from './tag-rows.js';

/** Builds that were never started count against the limit for this long. */
const WAITING_COUNTS_MS = 86_400_000;

/**
 * Registers a build that waits to be started, of a new template or of the one that has the name.
 * @throws {ApiError} 400, 403, 409, 429
 */
export async function createTemplate(
  context: Uses<'db' | 'ids' | 'now'>,
  team: Team,
  request: components['schemas']['TemplateBuildRequestV3'],
): Promise<components['schemas']['CreatedTemplate']> {
  const name = [request.name, request.alias].find((text) => text !== undefined && text.trim() !== '');
  if (name === undefined) throw errors.badRequest('a name is needed');
  const reference = parseOwnReference(name, team.slug);
  const tags = tagsOfBuild(reference, name.includes(':'), request.tags ?? []);
  const size = checkBuildSize(request, team.limits);
  try {
    return await context.db.transaction().execute(async (tx) => {
      const existing = await findByAlias(tx, team, reference.alias);
      const templateId = existing?.id ?? (await insertTemplate(context, tx, team, reference.alias));
      if (existing !== undefined) await countBuild(context, tx, existing);
      await markSuperseded(context, tx, await buildsWithTags(tx, templateId, tags, 'waiting'));
      await assertBuildLimit(context, tx, team);
      const buildId = context.ids.uuid();
      await insertBuild(context, tx, { team, templateId, buildId, size });
      await putTags(tx, templateId, buildId, tags, context.now());
      const { names, aliases } = await namesOfOne(tx, templateId);
      return {
        templateID: templateId,
        buildID: buildId,
        public: existing?.public === 1,
        names,
        tags,
        aliases,
      };
    });
  } catch (error) {
    // Another request took the name meanwhile.
    if (isUniqueViolation(error)) throw errors.templateNameTaken(reference.alias);
    throw error;
  }
}

async function findByAlias(tx: Tx, team: Team, alias: string): Promise<TemplateRow | undefined> {
  const template = await tx
    .selectFrom('template_aliases')
    .innerJoin('templates', 'templates.id', 'template_aliases.template_id')
    .selectAll('templates')
    .where('template_aliases.namespace', '=', team.slug)
    .where('template_aliases.alias', '=', alias)
    .executeTakeFirst();
  if (template === undefined) {
    const byId = await tx.selectFrom('templates').select('id').where('id', '=', alias).executeTakeFirst();
    if (byId !== undefined) throw errors.templateNameIsId(alias);
    return undefined;
  }
  if (template.team_id !== team.id) throw errors.templateAliasForeign(alias);
  if (template.kind === 'snapshot') throw errors.templateNameTaken(alias);
  await refuseSystem(tx, template.id);
  return template;
}

async function insertTemplate(
  context: Uses<'ids' | 'now'>,
  tx: Tx,
  team: Team,
  alias: string,
): Promise<string> {
  const id = context.ids.templateId();
  const now = context.now();
  await tx
    .insertInto('templates')
    .values(
      newTemplateRow({
        id,
        team_id: team.id,
        kind: 'template',
        created_at: now,
      }),
    )
    .execute();
  await tx
    .insertInto('template_aliases')
    .values({ namespace: team.slug, alias, template_id: id, created_at: now })
    .execute();
  return id;
}

async function countBuild(context: Uses<'now'>, tx: Tx, template: TemplateRow): Promise<void> {
  await tx
    .updateTable('templates')
    .set((build) => ({ build_count: build('build_count', '+', 1), updated_at: context.now() }))
    .where('id', '=', template.id)
    .execute();
}

async function assertBuildLimit(context: Uses<'now'>, tx: Tx, team: Team): Promise<void> {
  const { count } = await tx
    .selectFrom('template_builds')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('team_id', '=', team.id)
    .where((where) =>
      where.or([
        where('status', '=', 'building'),
        where.and([
          where('status', '=', 'waiting'),
          where('created_at', '>', context.now() - WAITING_COUNTS_MS),
        ]),
      ]),
    )
    .executeTakeFirstOrThrow();
  const limit = team.limits.maxConcurrentBuilds;
  if (Number(count) >= limit) throw errors.tooManyBuilds(limit);
}

async function insertBuild(
  context: Uses<'now'>,
  tx: Tx,
  given: { team: Team; templateId: string; buildId: string; size: BuildSize },
): Promise<void> {
  const now = context.now();
  await tx
    .insertInto('template_builds')
    .values(
      newBuildRow({
        id: given.buildId,
        template_id: given.templateId,
        team_id: given.team.id,
        status: 'waiting',
        cpu_count: given.size.cpuCount,
        memory_mb: given.size.memoryMiB,
        disk_mb: given.size.diskMiB,
        created_at: now,
      }),
    )
    .execute();
}

interface BuildSize {
  cpuCount: number;
  memoryMiB: number;
  diskMiB: number;
}

const DEFAULT_SIZE: BuildSize = { cpuCount: 2, memoryMiB: 1024, diskMiB: 10_240 };
const MAX_DISK_MIB = 25_600;

/**
 * Returns the size of sandboxes of a new build. Omitted: 2 cores, 1024 MiB of memory, 10240 MiB of disk.
 * @throws {ApiError} 400 for odd numbers and for more than the team may use
 */
function checkBuildSize(
  wanted: {
    cpuCount?: number | undefined;
    memoryMB?: number | undefined;
    minFreeDiskMb?: number | undefined;
  },
  limits: Pick<TeamLimits, 'maxCpuCount' | 'maxMemoryMiB'>,
): BuildSize {
  const cpuCount = wanted.cpuCount ?? Math.min(DEFAULT_SIZE.cpuCount, limits.maxCpuCount);
  if (cpuCount !== 1 && cpuCount % 2 !== 0) throw errors.badRequest('cpuCount must be 1 or an even number');
  if (cpuCount > limits.maxCpuCount)
    throw errors.badRequest(`cpuCount must be at most ${limits.maxCpuCount}, the limit of the team`);
  const memoryMiB = wanted.memoryMB ?? Math.min(DEFAULT_SIZE.memoryMiB, limits.maxMemoryMiB);
  if (memoryMiB % 2 !== 0) throw errors.badRequest('memoryMB must be an even number');
  if (memoryMiB > limits.maxMemoryMiB)
    throw errors.badRequest(`memoryMB must be at most ${limits.maxMemoryMiB}, the limit of the team`);
  const diskMiB = wanted.minFreeDiskMb ?? DEFAULT_SIZE.diskMiB;
  if (diskMiB > MAX_DISK_MIB) throw errors.badRequest(`minFreeDiskMb must be at most ${MAX_DISK_MIB}`);
  return { cpuCount, memoryMiB, diskMiB };
}

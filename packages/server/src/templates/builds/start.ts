import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team-store.js';
import { inSpan } from '../../api/context/tracer.js';
import { errors } from '../../api/errors/catalog.js';
import { resolveTemplate } from '../../sandboxes/records/resolve-template.js';
import { toJson } from '../../storage/json.js';
import { assertTeamEgress } from '../../teams/quota/egress-month.js';
import { assertDiskRoom, assertTeamStorage } from '../../teams/quota/storage-use.js';
import type { Uses } from '../context.js';
import { buildsWithTags, cancelBuilds, markSuperseded } from '../supersede.js';
import { runBuild } from './run-build.js';
import type { BuildPorts } from './shared/build-tools.js';
import { findBuild } from './status.js';

type StartRequest = components['schemas']['TemplateBuildStartV2'];

/**
 * Starts a waiting build; others under way for the same tags end. It runs on after the answer.
 * @throws {ApiError} 400 not waiting, or not exactly one base; 403; 404, for the template to start from as well; 429 when
 * the team's disk is full or it sent as much this month as it may, 503 when the server's disk is full
 */
export async function startBuild(
  context: BuildPorts & Uses<'builds' | 'templates' | 'volumes'>,
  team: Team,
  templateText: string,
  buildId: string,
  body: StartRequest,
): Promise<void> {
  const { fromImageRegistry: registry, ...request } = body;
  const fromImage = (request.fromImage ?? '').trim() !== '';
  const fromTemplate = (request.fromTemplate ?? '').trim() !== '';
  const build = await findBuild(context, team, templateText, buildId);
  if (fromImage === fromTemplate)
    throw errors.badRequest(
      fromImage ? 'give fromImage or fromTemplate, not both' : 'fromImage or fromTemplate is needed',
    );
  if (build.status !== 'waiting') throw errors.buildNotWaiting(build.status);
  await assertTeamStorage(context, team);
  await assertTeamEgress(context, team);
  await assertDiskRoom(context);
  const parent = fromTemplate
    ? (await resolveTemplate(context, team, request.fromTemplate!)).build
    : undefined;
  const superseded = await context.db.transaction().execute(async (tx) => {
    const now = context.now();
    const result = await tx
      .updateTable('template_builds')
      .set((row) => ({
        status: 'building',
        version: row('version', '+', 1),
        node_id: context.config.nodeId,
        definition: toJson<unknown>(request),
        updated_at: now,
      }))
      .where('id', '=', build.id)
      .where('status', '=', 'waiting')
      .executeTakeFirst();
    if (result.numUpdatedRows !== 1n) throw errors.buildNotWaiting('building');
    const rows = await tx
      .selectFrom('template_tags')
      .select('tag')
      .where('build_id', '=', build.id)
      .execute();
    const tags = rows.map((row) => row.tag);
    const others = (await buildsWithTags(tx, build.template_id, tags, 'building')).filter(
      (id) => id !== build.id,
    );
    await markSuperseded(context, tx, others);
    return others;
  });
  cancelBuilds(context, superseded);
  const job = { build, request, registry, parent };
  context.builds.add(build.id, (signal) =>
    inSpan(context.tracer, 'build', () => runBuild(context, job, signal), {
      root: true,
      attributes: { 'svc.build.id': build.id, 'svc.template.id': build.template_id },
    }),
  );
}

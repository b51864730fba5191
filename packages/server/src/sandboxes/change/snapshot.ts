import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { toJson } from '../../storage/json.js';
import { encryptJson } from '../../storage/keys/encrypted-setting.js';
import { newBuildRow, newTemplateRow } from '../../storage/new-template-rows.js';
import type { Tx } from '../../storage/schema.js';
import { assertTeamStorage } from '../../teams/quota/storage-use.js';
import type { SandboxPorts, StartPorts, Uses } from '../context.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { dropCheckpoint, recordCheckpoint, recordCheckpointSize } from '../records/checkpoints.js';
import { findTemplate, type TemplateRow } from '../records/find-template.js';
import { changeRow, type RowPatch } from '../records/rows.js';
import {
  DEFAULT_TAG,
  parseTemplateReference,
  type TemplateReference,
} from '../records/template-reference.js';
import { admit, begin } from '../records/transition.js';
import { decryptSecrets } from '../start/boot.js';
import { checkpointError } from '../start/placement-error.js';
import { configOf } from '../state/config.js';
import type { LiveSandbox, SandboxRow } from '../state/live.js';
import { collectLogs } from '../telemetry/collect-logs.js';
import { quiesceSandbox, unquiesceSandbox } from './quiesce.js';

export interface SnapshotOptions {
  team: Team;
  sandboxId: string;
  /** `[namespace/]alias[:tag]`. */
  name?: string | undefined;
  memory: boolean;
}

/**
 * Stores the state of a running sandbox as a template from which others start.
 * @throws {ApiError} 400, 404, 409, 500, 503
 */
export async function createSnapshot(
  context: StartPorts,
  options: SnapshotOptions,
): Promise<components['schemas']['SnapshotInfo']> {
  const { team } = options;
  const reference = options.name === undefined ? undefined : parseTemplateReference(options.name);
  if (reference?.namespace !== undefined && reference.namespace !== team.slug)
    throw errors.badRequest(`the namespace of a snapshot must be that of the team, '${team.slug}'`);
  await assertTeamStorage(context, team);
  const { live } = await admit(context, team.id, options.sandboxId, 'snapshot');
  if (options.memory && !context.driver.capabilities.memorySnapshot)
    throw errors.memorySnapshotMissing('the snapshot');
  return begin(context, live, 'snapshotting', () => store(context, live, options, reference));
}

async function store(
  context: SandboxPorts,
  live: LiveSandbox,
  options: SnapshotOptions,
  reference: TemplateReference | undefined,
): Promise<components['schemas']['SnapshotInfo']> {
  const { team, memory } = options;
  const buildId = context.ids.uuid();
  const checkpointId = `snapshot-${buildId}`;
  await collectLogs(context, live, { timeoutMs: 2_000 }).catch(() => 0);
  await changeRow(
    context,
    live,
    () => ({ state: 'snapshotting' }),
    (tx, row) =>
      recordCheckpoint(
        context,
        tx,
        checkpointId,
        { owner_kind: 'build', owner_id: buildId, team_id: row.team_id },
        memory,
      ),
  );
  let sizeBytes = 0;
  let patch: RowPatch = {};
  try {
    try {
      if (memory) await quiesceSandbox(context, live, checkpointId);
      ({ sizeBytes } = await live.instance!.checkpoint({ checkpointId, memory, then: 'continue' }));
    } finally {
      if (memory) patch = await unquiesceSandbox(context, live);
    }
  } catch (error) {
    await changeRow(context, live, () => ({ ...patch, state: 'running' }));
    await dropCheckpoint(context, checkpointId);
    throw checkpointError(live.row.id, 'snapshotting', error);
  }
  // A name that is taken already gets a new build; the template is looked up late, so that it is the current one.
  const existing =
    reference === undefined
      ? undefined
      : await findTemplate(context, team, { namespace: team.slug, alias: reference.alias });
  const templateId = existing?.id ?? context.ids.templateId();
  const tag = reference?.tag ?? DEFAULT_TAG;
  await changeRow(
    context,
    live,
    () => ({ ...patch, state: 'running' }),
    async (tx, row) => {
      await recordCheckpointSize(tx, checkpointId, sizeBytes);
      await putTemplate(context, tx, { row, team, existing, templateId, reference });
      await putBuild(context, tx, { row, templateId, buildId, checkpointId, memory, tag });
      await context.events.emit(tx, lifecycleEvent('sandbox.lifecycle.checkpointed', row));
    },
  );
  const name = reference === undefined ? undefined : `${team.slug}/${reference.alias}:${tag}`;
  return { snapshotID: name ?? `${templateId}:${DEFAULT_TAG}`, names: name === undefined ? [] : [name] };
}

async function putTemplate(
  context: Uses<'now'>,
  tx: Tx,
  given: {
    row: SandboxRow;
    team: Team;
    existing: TemplateRow | undefined;
    templateId: string;
    reference: TemplateReference | undefined;
  },
): Promise<void> {
  const now = context.now();
  if (given.existing !== undefined) {
    await tx
      .updateTable('templates')
      .set((build) => ({
        updated_at: now,
        build_count: build('build_count', '+', 1),
        source_sandbox_id: given.row.id,
      }))
      .where('id', '=', given.templateId)
      .execute();
    return;
  }
  await tx
    .insertInto('templates')
    .values(
      newTemplateRow({
        id: given.templateId,
        team_id: given.team.id,
        kind: 'snapshot',
        source_sandbox_id: given.row.id,
        created_at: now,
      }),
    )
    .execute();
  if (given.reference !== undefined)
    await tx
      .insertInto('template_aliases')
      .values({
        namespace: given.team.slug,
        alias: given.reference.alias,
        template_id: given.templateId,
        created_at: now,
      })
      .execute();
}

async function putBuild(
  context: Uses<'config' | 'keys' | 'now'>,
  tx: Tx,
  given: {
    row: SandboxRow;
    templateId: string;
    buildId: string;
    checkpointId: string;
    memory: boolean;
    tag: string;
  },
): Promise<void> {
  const { row } = given;
  const config = configOf(row);
  const now = context.now();
  await tx
    .insertInto('template_builds')
    .values(
      newBuildRow({
        id: given.buildId,
        template_id: given.templateId,
        team_id: row.team_id,
        status: 'ready',
        cpu_count: row.cpu_count,
        memory_mb: row.memory_mb,
        disk_mb: row.disk_mb,
        envd_version: row.envd_version,
        layers: toJson(config.layers),
        checkpoint_id: given.checkpointId,
        checkpoint_memory: given.memory ? 1 : 0,
        source_sandbox_id: row.id,
        node_id: context.config.nodeId,
        encrypted_env_vars:
          row.encrypted_secrets === null
            ? null
            : encryptJson(context.keys, 'build', decryptSecrets(context, row).envVars ?? {}),
        default_user: config.defaultUser,
        default_workdir: config.defaultWorkdir,
        start_command: given.memory ? null : config.startCommand,
        created_at: now,
        finished_at: now,
      }),
    )
    .execute();
  await tx
    .insertInto('template_tags')
    .values({ template_id: given.templateId, tag: given.tag, build_id: given.buildId, created_at: now })
    .execute();
}

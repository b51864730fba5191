import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_TAG } from '../sandboxes/records/template-reference.js';
import { toJson } from '../storage/json.js';
import { lockStart } from '../storage/migrate.js';
import { newBuildRow, newTemplateRow } from '../storage/new-template-rows.js';
import type { Tx } from '../storage/schema.js';
import { createApiKey } from '../teams/api-keys.js';
import { createTeam } from '../teams/records.js';
import type { Uses } from './context.js';

export interface Credentials {
  teamId: string;
  teamSlug: string;
  apiKey: string;
}

const FILE = 'credentials.json';
/** The templates that exist from the start, with their root file systems: the driver's base, and the host's own `/usr`. */
const SYSTEM_TEMPLATES = [
  { alias: 'base', layers: [] },
  { alias: 'host', layers: ['host'] },
];

/** Sizes of the template that exists from the start. */
export interface BaseTemplate {
  cpuCount: number;
  memoryMiB: number;
  diskMiB: number;
}

/**
 * Makes a default team with a key, kept in `credentials.json` (mode 0600) in the data directory, and the templates
 * `base` and, where a root file system can be shown, `host`. Does nothing that was done before.
 * @returns the credentials, and whether they are new.
 */
export async function seed(
  context: Uses<'config' | 'db' | 'dialect' | 'driver' | 'ids' | 'now'>,
  base: BaseTemplate,
): Promise<{ credentials: Credentials | undefined; fresh: boolean }> {
  const file = path.join(context.config.dataDir, FILE);
  const stored = await readFile(file, 'utf8').then(parseCredentials, () => undefined);
  // Servers that start side by side on one PostgreSQL do it one after another.
  const team = await context.db.transaction().execute(async (tx) => {
    await lockStart(tx, context.dialect);
    const found = await ensureTeam(context, tx);
    for (const template of SYSTEM_TEMPLATES)
      if (template.alias === 'base' || context.driver.capabilities.layers === 'rootfs')
        await ensureSystemTemplate(context, tx, found, base, template);
    return found;
  });
  if (stored !== undefined && stored.teamId === team.id) return { credentials: stored, fresh: false };
  const { key } = await createApiKey(context, team.id, { name: 'default' });
  const credentials = { teamId: team.id, teamSlug: team.slug, apiKey: key };
  // Renamed into place: a full disk must not leave half a file that the next start cannot read.
  await writeFile(`${file}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return { credentials, fresh: true };
}

function parseCredentials(text: string): Credentials | undefined {
  try {
    return JSON.parse(text) as Credentials;
  } catch {
    return undefined;
  }
}

interface DefaultTeam {
  id: string;
  slug: string;
}

async function ensureTeam(context: Uses<'ids' | 'now'>, tx: Tx): Promise<DefaultTeam> {
  const existing = await tx
    .selectFrom('teams')
    .select(['id', 'slug'])
    .where('slug', '=', 'default')
    .executeTakeFirst();
  if (existing !== undefined) return existing;
  return createTeam({ db: tx, ids: context.ids, now: context.now }, { slug: 'default', name: 'Default' });
}

/** A template of the service's own, open to every team. */
async function ensureSystemTemplate(
  context: Uses<'config' | 'ids' | 'now'>,
  tx: Tx,
  team: DefaultTeam,
  base: BaseTemplate,
  { alias, layers }: { alias: string; layers: string[] },
): Promise<void> {
  const existing = await tx
    .selectFrom('template_aliases')
    .select('template_id')
    .where('namespace', '=', '')
    .where('alias', '=', alias)
    .executeTakeFirst();
  if (existing !== undefined) return;
  const now = context.now();
  const templateId = context.ids.templateId();
  const buildId = context.ids.uuid();
  await tx
    .insertInto('templates')
    .values(
      newTemplateRow({
        id: templateId,
        team_id: team.id,
        kind: 'template',
        public: 1,
        created_at: now,
      }),
    )
    .execute();
  await tx
    .insertInto('template_aliases')
    .values(
      ['', team.slug].map((namespace) => ({
        namespace,
        alias,
        template_id: templateId,
        created_at: now,
      })),
    )
    // A team may have had one of this name before there was the service's.
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx
    .insertInto('template_builds')
    .values(
      newBuildRow({
        id: buildId,
        template_id: templateId,
        team_id: team.id,
        status: 'ready',
        cpu_count: base.cpuCount,
        memory_mb: base.memoryMiB,
        disk_mb: base.diskMiB,
        envd_version: context.config.envdVersion,
        layers: toJson(layers),
        created_at: now,
        finished_at: now,
      }),
    )
    .execute();
  await tx
    .insertInto('template_tags')
    .values({ template_id: templateId, tag: DEFAULT_TAG, build_id: buildId, created_at: now })
    .execute();
}

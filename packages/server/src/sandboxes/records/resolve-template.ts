import type { Isolation } from '@svc/runtime/contract';
import type { Team } from '../../api/auth/team-store.js';
import { builtinAlias } from '../../api/errors/builtin-templates.js';
import { errors } from '../../api/errors/catalog.js';
import type { Uses } from '../context.js';
import { asSeenByOthers, type ResolvedTemplate } from '../state/resolved-template.js';
import { findTemplate, firstAlias, systemAlias } from './find-template.js';
import { DEFAULT_TAG, parseTemplateReference } from './template-reference.js';

/**
 * Finds the build that a sandbox is made of. Results are cached.
 * @throws {ApiError} 400 bad syntax; 404 unknown, private to another team, unknown tag, no finished build.
 */
export function resolveTemplate(
  context: Uses<'config' | 'db' | 'templates'>,
  team: Team,
  text: string,
): Promise<ResolvedTemplate> {
  return context.templates.get(`${team.id} ${team.slug} ${text}`, () => read(context, team, text));
}

/** The node with the objects that a sandbox of this build starts from; null when any node can start it. */
export function nodeOf({ build }: ResolvedTemplate): string | null {
  return build.checkpoint_id !== null || build.layers !== '[]' ? build.node_id : null;
}

async function read(context: Uses<'config' | 'db'>, team: Team, text: string): Promise<ResolvedTemplate> {
  const reference = parseTemplateReference(text);
  const other = reference.namespace === undefined ? builtinAlias(reference.alias) : undefined;
  const template =
    (await findTemplate(context, team, reference)) ??
    (other && (await findTemplate(context, team, { ...reference, alias: other })));
  if (!template || (template.team_id !== team.id && template.public !== 1))
    throw errors.templateNotFound(text);
  const tag = reference.tag ?? DEFAULT_TAG;
  const build = await context.db
    .selectFrom('template_tags')
    .innerJoin('template_builds', 'template_builds.id', 'template_tags.build_id')
    .selectAll('template_builds')
    .where('template_tags.template_id', '=', template.id)
    .where('template_tags.tag', '=', tag)
    .where('template_builds.status', '=', 'ready')
    .orderBy('template_tags.created_at', 'desc')
    .executeTakeFirst();
  if (build === undefined) {
    if (tag === DEFAULT_TAG) throw errors.templateNotReady(text);
    throw errors.templateTagNotFound(tag, text);
  }
  const resolved = {
    template,
    build,
    alias: await firstAlias(context, template.id),
    isolation: await isolationOf(context, template.id),
  };
  return template.team_id === team.id ? resolved : asSeenByOthers(resolved);
}

/** Returns the isolation that the settings choose for the sandboxes of a template. Undefined: the driver decides. */
async function isolationOf(
  { config, db }: Uses<'config' | 'db'>,
  templateId: string,
): Promise<Isolation | undefined> {
  const { templateIsolation } = config;
  if (Object.keys(templateIsolation).length === 0) return undefined;
  // Only names of the service's own: a team could call a template of its own like another's.
  const alias = await systemAlias(db, templateId);
  return templateIsolation[templateId] ?? (alias === undefined ? undefined : templateIsolation[alias]);
}

import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { cutPage, decodeNextToken } from '../../api/wire/next-token.js';
import { afterKey, type Order } from '../../storage/keyset.js';
import type { Uses } from '../context.js';
import type { SandboxRow } from '../state/live.js';
import { findTemplate } from './find-template.js';
import { parseTemplateReference } from './template-reference.js';

interface ListOptions {
  team: Team;
  states: readonly ('running' | 'paused')[];
  metadata?: Map<string, string> | undefined;
  order?: Order | undefined;
  startedAfterMs?: number | undefined;
  template?: string | undefined;
  nextToken?: string | undefined;
  /** Undefined: all in one page. */
  limit?: number | undefined;
}

interface ListPage {
  rows: SandboxRow[];
  nextToken: string | undefined;
  /** Running ones that match, before paging; undefined when running ones were not asked for. */
  totalRunning: number | undefined;
}

/** Lists sandboxes by start time, strictly after the cursor. @throws {ApiError} 400 */
export async function listSandboxes(context: Uses<'db'>, options: ListOptions): Promise<ListPage> {
  const order = options.order ?? 'desc';
  const after = decodeNextToken(options.nextToken, order);
  const states = [...new Set(options.states)];
  const countsRunning = states.includes('running');
  const templateId = options.template === undefined ? undefined : await templateIdOf(context, options);
  if (templateId === null)
    return { rows: [], nextToken: undefined, totalRunning: countsRunning ? 0 : undefined };

  const matching = (views: readonly ('running' | 'paused')[]) => {
    let query = context.db.selectFrom('sandboxes').where('sandboxes.team_id', '=', options.team.id);
    query =
      views.length === 1
        ? query.where('sandboxes.view', '=', views[0]!)
        : query.where('sandboxes.view', 'in', [...views]);
    if (templateId !== undefined) query = query.where('sandboxes.template_id', '=', templateId);
    if (options.startedAfterMs !== undefined)
      query = query.where('sandboxes.started_at', '>=', options.startedAfterMs);
    for (const [key, value] of options.metadata ?? [])
      query = query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('sandbox_metadata')
            .select('sandbox_metadata.key')
            .whereRef('sandbox_metadata.sandbox_id', '=', 'sandboxes.id')
            .where('sandbox_metadata.key', '=', key)
            .where('sandbox_metadata.value', '=', value),
        ),
      );
    return query;
  };

  let page = matching(states).selectAll('sandboxes');
  const idOrder = order === 'desc' ? 'asc' : 'desc';
  if (after !== undefined)
    page = page.where(afterKey(after, { time: 'started_at', id: 'id' }, { time: order, id: idOrder }));
  page = page.orderBy('started_at', order).orderBy('id', idOrder);
  if (options.limit !== undefined) page = page.limit(options.limit + 1);

  const keyOf = (row: SandboxRow) => ({ atMs: row.started_at, id: row.id });
  const { rows, nextToken } = cutPage(await page.execute(), options.limit, keyOf, order);
  const totalRunning = countsRunning
    ? Number(
        (
          await matching(['running'])
            .select((build) => build.fn.countAll<number>().as('count'))
            .executeTakeFirstOrThrow()
        ).count,
      )
    : undefined;
  return { rows, nextToken, totalRunning };
}

/** Null: no such template, so nothing matches. */
async function templateIdOf(context: Uses<'db'>, options: ListOptions): Promise<string | null> {
  const text = options.template ?? '';
  if (text.includes(':')) throw errors.badRequest('template: a tag cannot be given here');
  const template = await findTemplate(context, options.team, parseTemplateReference(text));
  return template?.id ?? null;
}

/**
 * Reads the metadata filter of the lists. The query value is form-decoded as a whole, split at `&` and `=`, and each
 * part is form-decoded once more. Of a repeated key the last counts.
 * @throws {ApiError} 400 `Error parsing metadata: ...`
 */
export function parseMetadataFilter(value: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const piece of formDecode(value).split('&')) {
    const parts = piece.split('=');
    if (parts.length !== 2) throw errors.metadataFilter('every pair must be key=value');
    pairs.set(formDecode(parts[0]!), formDecode(parts[1]!));
  }
  return pairs;
}

function formDecode(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw errors.metadataFilter('invalid URL escape');
  }
  if (decoded.includes('\0')) throw errors.metadataFilter('it has a NUL character');
  return decoded;
}

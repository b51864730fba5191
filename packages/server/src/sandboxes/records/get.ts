import { errors } from '../../api/errors/catalog.js';
import type { Uses } from '../context.js';
import type { SandboxRow } from '../state/live.js';

/** Reads a sandbox of a team. @throws {ApiError} 404, also while it is being made or killed. */
export async function getSandbox(
  context: Uses<'db' | 'sandboxes'>,
  teamId: string,
  sandboxId: string,
): Promise<SandboxRow> {
  const row =
    context.sandboxes.get(sandboxId)?.row ??
    (await context.db.selectFrom('sandboxes').selectAll().where('id', '=', sandboxId).executeTakeFirst());
  if (row === undefined || row.team_id !== teamId || row.view === 'hidden')
    throw errors.sandboxNotFound(sandboxId);
  return row;
}

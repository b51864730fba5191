import type { Updateable } from 'kysely';
import type { ServerContext } from '../context.js';
import { errors } from '../errors/catalog.js';
import type { SandboxesTable, Tx } from '../storage/schema.js';
import { type LiveSandbox, newLive, type SandboxRow } from './live.js';
import { viewOf } from './state.js';

/** The sandbox as this process holds it, read from the database when it does not yet. */
export async function findLive(context: ServerContext, sandboxId: string): Promise<LiveSandbox | undefined> {
  const known = context.sandboxes.get(sandboxId);
  if (known !== undefined) return known;
  const row = await context.db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', sandboxId)
    .where('node_id', '=', context.config.nodeId)
    .executeTakeFirst();
  // Another caller may have been faster: there must be only one hold on a sandbox.
  return (
    context.sandboxes.get(sandboxId) ?? (row === undefined ? undefined : context.sandboxes.set(newLive(row)))
  );
}

/** As `findLive`, for a team. @throws {ApiError} 404, for the sandbox of another team as well. */
export async function holdSandbox(
  context: ServerContext,
  teamId: string,
  sandboxId: string,
): Promise<LiveSandbox> {
  const live = await findLive(context, sandboxId);
  if (live === undefined || live.row.team_id !== teamId) throw errors.sandboxNotFound(sandboxId);
  return live;
}

/** Lets go of a paused sandbox that has no instance: it is read again when asked for. */
export function release(context: ServerContext, live: LiveSandbox): void {
  if (live.instance === undefined && live.transition === undefined && live.row.state === 'paused')
    context.sandboxes.delete(live.row.id);
}

export type RowPatch = Omit<Updateable<SandboxesTable>, 'id' | 'version' | 'view'>;

/**
 * Writes changes of a sandbox's row; changes of one sandbox run one after another, each on the row that the last left.
 * @param patch computes what changes, or undefined for nothing.
 * @param more further writes of the same transaction, such as events.
 */
export function changeRow(
  context: ServerContext,
  live: LiveSandbox,
  patch: (row: SandboxRow) => RowPatch | undefined,
  more?: (tx: Tx, row: SandboxRow) => Promise<void>,
): Promise<void> {
  const write = async () => {
    const changes = patch(live.row);
    if (changes === undefined) return;
    const row = { ...live.row, ...changes, version: live.row.version + 1 } as SandboxRow;
    row.view = viewOf(row.state);
    await context.db.transaction().execute(async (tx) => {
      const result = await tx
        .updateTable('sandboxes')
        .set({ ...changes, version: row.version, view: row.view })
        .where('id', '=', row.id)
        .where('version', '=', live.row.version)
        .executeTakeFirst();
      if (result.numUpdatedRows !== 1n)
        throw new Error(`the row of sandbox ${row.id} was changed by somebody else`);
      await more?.(tx, row);
    });
    live.row = row;
    if (more !== undefined) context.events.committed();
  };
  const result = live.writes.then(write, write);
  live.writes = result.catch(() => {});
  return result;
}

/** Removes a sandbox's row, with further writes in the same transaction. */
export async function removeRow(
  context: ServerContext,
  live: LiveSandbox,
  more?: (tx: Tx) => Promise<void>,
): Promise<void> {
  await live.writes;
  await context.db.transaction().execute(async (tx) => {
    await tx.deleteFrom('sandboxes').where('id', '=', live.row.id).execute();
    if (live.row.metadata !== null)
      await tx.deleteFrom('sandbox_metadata').where('sandbox_id', '=', live.row.id).execute();
    await more?.(tx);
  });
  live.gone = true;
  context.sandboxes.delete(live.row.id);
  if (more !== undefined) context.events.committed();
}

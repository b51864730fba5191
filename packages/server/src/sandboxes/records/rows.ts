import type { Updateable } from 'kysely';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import { DatabaseUnreachableError } from '../../storage/database-errors.js';
import type { SandboxesTable, Tx } from '../../storage/schema.js';
import type { RowPorts, Uses } from '../context.js';
import { type LiveSandbox, newLive, type SandboxRow } from '../state/live.js';
import { assertMayFollow, viewOf } from '../state/state.js';

/** Returns the live sandbox of this process, read from the database when it is not in memory yet. */
export async function findLive(
  context: Uses<'config' | 'db' | 'sandboxes'>,
  sandboxId: string,
): Promise<LiveSandbox | undefined> {
  const known = context.sandboxes.get(sandboxId);
  if (known !== undefined) return known;
  const row = await context.db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', sandboxId)
    .where('node_id', '=', context.config.nodeId)
    .executeTakeFirst();
  // Another caller may have been faster: there must be only one live object for a sandbox.
  return (
    context.sandboxes.get(sandboxId) ?? (row === undefined ? undefined : context.sandboxes.set(newLive(row)))
  );
}

/** As `findLive`, for a team. @throws {ApiError} 404, for the sandbox of another team as well. */
export async function holdSandbox(
  context: Uses<'config' | 'db' | 'sandboxes'>,
  teamId: string,
  sandboxId: string,
): Promise<LiveSandbox> {
  const live = await findLive(context, sandboxId);
  if (live === undefined || live.row.team_id !== teamId) throw errors.sandboxNotFound(sandboxId);
  return live;
}

/** Lets go of a paused sandbox that has no instance: it is read again when asked for. */
export function release(context: Uses<'sandboxes'>, live: LiveSandbox): void {
  if (
    live.instance === undefined &&
    live.transition === undefined &&
    live.row.state === 'paused' &&
    !live.stale
  )
    context.sandboxes.delete(live.row.id);
}

/** Forgets a deleted sandbox: remaining references to it are worthless. */
export function forget(context: Uses<'sandboxes'>, live: LiveSandbox): void {
  live.deleted = true;
  context.sandboxes.delete(live.row.id);
}

export type RowPatch = Omit<Updateable<SandboxesTable>, 'id' | 'version' | 'view'>;

/**
 * Writes changes of a sandbox's row; changes of one sandbox run one after another, each on the row that the last left.
 * @param patch computes what changes, or undefined for nothing.
 * After a failure with an unknown result the row is read again before the next change.
 * @param more further writes of the same transaction, such as events.
 * @throws {ApiError} 404 when the row was deleted.
 */
export function changeRow(
  context: RowPorts,
  live: LiveSandbox,
  patch: (row: SandboxRow) => RowPatch | undefined,
  more?: (tx: Tx, row: SandboxRow) => Promise<void>,
): Promise<void> {
  const write = async () => {
    if (live.stale) await readAgain(context, live);
    const changes = patch(live.row);
    if (changes === undefined) return;
    const row = { ...live.row, ...changes, version: live.row.version + 1 } as SandboxRow;
    assertMayFollow(live.row.state, row.state);
    row.view = viewOf(row.state);
    try {
      await context.db.transaction().execute(async (tx) => {
        const result = await tx
          .updateTable('sandboxes')
          .set({ ...changes, version: row.version, view: row.view })
          .where('id', '=', row.id)
          .where('version', '=', live.row.version)
          .where(context.nodes.fence())
          .executeTakeFirst();
        if (result.numUpdatedRows !== 1n)
          throw new Error(`the row of sandbox ${row.id} was changed by somebody else`);
        await more?.(tx, row);
      });
    } catch (error) {
      if (!isSurelyUndone(error)) {
        live.stale = true;
        context.repairs.later(live);
      }
      throw error;
    }
    live.row = row;
    if (more !== undefined) context.events.committed();
  };
  const result = live.writes.then(write, write);
  live.writes = result.catch(() => {});
  return result;
}

/** Returns whether a failed transaction left nothing behind: our own code stopped it, or it did not begin. */
export function isSurelyUndone(error: unknown): boolean {
  return ApiError.is(error) || error instanceof DatabaseUnreachableError;
}

/** @throws {ApiError} 404 when the row was deleted, or is another node's */
async function readAgain(context: Uses<'db' | 'nodes' | 'sandboxes'>, live: LiveSandbox): Promise<void> {
  const { id } = live.row;
  const row = await context.db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirst();
  live.stale = false;
  if (row?.node_id === context.nodes.nodeId) {
    live.row = row;
    return;
  }
  forget(context, live);
  // Another node took it over meanwhile, which answers for it from now on.
  throw row === undefined ? errors.sandboxNotFound(id) : errors.nodeBusy(id);
}

/**
 * Removes a sandbox's row, with further writes in the same transaction. Without them when it was gone already: whoever
 * removed it has done them.
 */
export async function removeRow(
  context: Uses<'db' | 'events' | 'nodes' | 'sandboxes'>,
  live: LiveSandbox,
  more?: (tx: Tx) => Promise<void>,
): Promise<void> {
  await live.writes;
  assertMayFollow(live.row.state, 'deleted');
  await context.db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('sandboxes')
      .where('id', '=', live.row.id)
      .where('node_id', '=', context.nodes.nodeId)
      .where(context.nodes.fence())
      .executeTakeFirst();
    if (numDeletedRows === 0n) return;
    if (live.row.metadata !== null)
      await tx.deleteFrom('sandbox_metadata').where('sandbox_id', '=', live.row.id).execute();
    await more?.(tx);
  });
  forget(context, live);
  if (more !== undefined) context.events.committed();
}

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

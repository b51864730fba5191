import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import { isUniqueViolation } from '../storage/database-errors.js';
import type { Uses } from './context.js';
import { findOwnForChange } from './find-own.js';
import { namesOfOne } from './names.js';

/**
 * Changes who may use a template; an empty change changes nothing. Taking it back from the public also gives up names
 * that were promoted.
 * @param change.publishMemory needed to publish the memory of a sandbox.
 * @param promote whether publishing also claims the bare aliases for every team
 * @returns the names of the template
 * @throws {ApiError} 400, 403, 404; 409 when a name to promote is taken
 */
export async function updateTemplate(
  context: Uses<'db' | 'now'>,
  team: Team,
  text: string,
  change: { public?: boolean | undefined; publishMemory?: boolean | undefined },
  promote: boolean,
): Promise<string[]> {
  const template = await findOwnForChange(context, team, text);
  const now = context.now();
  if (change.publishMemory === true && change.public !== true)
    throw errors.badRequest('publishMemory goes with public: true only');
  if (change.public === true && change.publishMemory !== true && template.public_memory !== 1)
    await refuseMemory(context, template.id);
  if (change.public !== undefined) {
    const open = change.public;
    await context.db.transaction().execute(async (tx) => {
      await tx
        .updateTable('templates')
        .set({
          public: open ? 1 : 0,
          ...(open && change.publishMemory !== true ? {} : { public_memory: open ? 1 : 0 }),
          updated_at: now,
        })
        .where('id', '=', template.id)
        .execute();
      const promoted = tx
        .deleteFrom('template_aliases')
        .where('namespace', '=', '')
        .where('template_id', '=', template.id);
      if (!open) await promoted.execute();
      if (!open || !promote) return;
      await promoted.execute();
      for (const alias of (await namesOfOne(tx, template.id)).aliases)
        await tx
          .insertInto('template_aliases')
          .values({ namespace: '', alias, template_id: template.id, created_at: now })
          .execute()
          .catch((error: unknown) => {
            throw isUniqueViolation(error) ? errors.templateNameTaken(alias) : error;
          });
    });
  }
  return (await namesOfOne(context.db, template.id)).names;
}

/** @throws {ApiError} 400 when the template holds the memory of a sandbox: publishing that is asked for by name. */
async function refuseMemory(context: Uses<'db'>, templateId: string): Promise<void> {
  const memory = await context.db
    .selectFrom('template_builds')
    .select('id')
    .where('template_id', '=', templateId)
    .where('status', '=', 'ready')
    .where('checkpoint_memory', '=', 1)
    // Built templates store a machine that only their own instructions ran on.
    .where('definition', 'is', null)
    .limit(1)
    .executeTakeFirst();
  if (memory !== undefined)
    throw errors.badRequest(
      'this snapshot holds the memory of a running sandbox: every team could read the variables, keys and data of the programs in it; publish a snapshot made with memory: false, or send publishMemory: true if that is meant',
    );
}

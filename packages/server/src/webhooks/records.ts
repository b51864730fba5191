import type { components } from '@svc/platform';
import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { Uses } from '../sandboxes/context.js';
import { toJson } from '../storage/json.js';
import type { Database, WebhooksTable } from '../storage/schema.js';
import { boundIdle, READY } from './delivery/queue.js';
import { encryptSignatureSecret } from './delivery/signature.js';
import { checkWebhookUrl, distinctEvents } from './rules.js';
import { webhookToWire } from './wire.js';

type Webhook = components['schemas']['Webhook'];
type Context = Uses<'db' | 'ids' | 'keys' | 'now'>;

/** @throws {ApiError} 400 for a bad URL, 429 when the team has as many webhooks as it may */
export async function createWebhook(
  context: Context,
  team: Team,
  request: components['schemas']['NewWebhook'],
): Promise<Webhook> {
  const id = context.ids.uuid();
  const now = context.now();
  const row: WebhooksTable = {
    id,
    team_id: team.id,
    name: request.name,
    url: checkWebhookUrl(request.url),
    enabled: request.enabled === false ? 0 : 1,
    events: toJson(distinctEvents(request.events)),
    encrypted_secret: encryptSignatureSecret(context.keys, id, request.signatureSecret),
    created_at: now,
    updated_at: now,
  };
  await context.db.transaction().execute(async (tx) => {
    await tx.insertInto('webhooks').values(row).execute();
    const { count } = await tx
      .selectFrom('webhooks')
      .select((select) => select.fn.countAll<number>().as('count'))
      .where('team_id', '=', team.id)
      .executeTakeFirstOrThrow();
    if (Number(count) > team.limits.maxWebhooks) throw errors.tooManyWebhooks(team.limits.maxWebhooks);
  });
  return webhookToWire(row);
}

/** Webhooks of a team, oldest first. */
export async function listWebhooks(db: Database, teamId: string): Promise<Webhook[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('team_id', '=', teamId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(webhookToWire);
}

/** @throws {ApiError} 400 for what is no UUID, 404 */
export async function findWebhook(db: Database, teamId: string, webhookId: string): Promise<WebhooksTable> {
  if (!isUuid(webhookId)) throw errors.invalidWebhookId();
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', webhookId.toLowerCase())
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  if (row === undefined) throw errors.webhookNotFound();
  return row;
}

/** Changes the given members; the others stay. @throws {ApiError} 400, 404 */
export async function updateWebhook(
  context: Context,
  teamId: string,
  webhookId: string,
  request: components['schemas']['UpdateWebhook'],
): Promise<Webhook> {
  const row = await findWebhook(context.db, teamId, webhookId);
  const { name, url, enabled, events, signatureSecret } = request;
  const change: Partial<WebhooksTable> = {
    updated_at: context.now(),
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url: checkWebhookUrl(url) }),
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
    ...(events === undefined ? {} : { events: toJson(distinctEvents(events)) }),
    ...(signatureSecret === undefined
      ? {}
      : { encrypted_secret: encryptSignatureSecret(context.keys, row.id, signatureSecret) }),
  };
  await context.db.updateTable('webhooks').set(change).where('id', '=', row.id).execute();
  return webhookToWire({ ...row, ...change });
}

/** Ends a webhook with all that was noted about its deliveries. @throws {ApiError} 400, 404 */
export async function deleteWebhook(
  context: Uses<'db' | 'dialect'>,
  teamId: string,
  webhookId: string,
): Promise<void> {
  const { db } = context;
  const { id } = await findWebhook(db, teamId, webhookId);
  await db.transaction().execute(async (tx) => {
    await boundIdle(tx, context);
    // First: transactions that write deliveries for it have ended then, and none begins.
    await tx.deleteFrom('webhooks').where('id', '=', id).execute();
    // None is the first one any more: else each that goes would give its turn to the next, of a hundred thousand perhaps.
    await tx
      .updateTable('webhook_deliveries')
      .set({ waits: 1 })
      .where('webhook_id', '=', id)
      .where(READY)
      .execute();
    const deliveries = tx.selectFrom('webhook_deliveries').select('id').where('webhook_id', '=', id);
    await tx.deleteFrom('webhook_attempts').where('delivery_id', 'in', deliveries).execute();
    await tx.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
  });
}

import type { PartialHandlers } from '../api/handler.js';
import { parseSandboxId } from '../api/wire/ids.js';
import type { SandboxesContext } from '../sandboxes/context.js';
import { listEvents } from '../sandboxes/events/events.js';
import { listDeliveries, redeliverEvent } from './deliveries.js';
import { createWebhook, deleteWebhook, findWebhook, listWebhooks, updateWebhook } from './records.js';
import { webhookStats } from './stats.js';
import { webhookToWire } from './wire.js';

export const webhookHandlers = {
  createWebhook: async ({ context, team, body }) => ({
    status: 201,
    body: await createWebhook(context, team, body),
  }),
  listWebhooks: async ({ context, team }) => ({ status: 200, body: await listWebhooks(context.db, team.id) }),
  getWebhook: async ({ context, team, params }) => ({
    status: 200,
    body: webhookToWire(await findWebhook(context.db, team.id, params.webhookID)),
  }),
  updateWebhook: async ({ context, team, params, body }) => ({
    status: 200,
    body: await updateWebhook(context, team.id, params.webhookID, body),
  }),
  deleteWebhook: async ({ context, team, params }) => {
    await deleteWebhook(context, team.id, params.webhookID);
    return { status: 200 };
  },
  listWebhookDeliveries: async ({ context, team, params, query }) => ({
    status: 200,
    body: await listDeliveries(context.db, team.id, params.webhookID, query),
  }),
  redeliverWebhookEvent: async ({ context, team, params }) => ({
    status: 202,
    body: await redeliverEvent(context, team.id, params.webhookID, params.eventID),
  }),
  getWebhookStats: async ({ context, team, params, query }) => ({
    status: 200,
    body: await webhookStats(context, team.id, params.webhookID, query),
  }),
  listEvents: async ({ context, team, query }) => ({
    status: 200,
    body: await listEvents(context.db, team.id, query),
  }),
  listSandboxEvents: async ({ context, team, params, query }) => ({
    status: 200,
    body: await listEvents(context.db, team.id, { ...query, sandboxId: parseSandboxId(params.sandboxID) }),
  }),
} satisfies PartialHandlers<SandboxesContext>;

import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import type { Delivery, DeliveryQuery, NewWebhook, Webhook, WebhookChange, WebhookStats } from './webhook.js';
import { fromDelivery, fromStats, fromWebhook, toChange, toNewWebhook } from './wire.js';

const resource = 'webhook' as const;

/** The webhooks of the team. What a webhook sends is checked with the exported `webhooks`. */
export class Webhooks {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Registers an address that events are sent to.
   * @throws InvalidRequestError, RateLimitError when the team has as many as it may
   * @example
   * const webhook = await client.webhooks.create({
   *   name: 'audit',
   *   url: 'https://example.com/hooks',
   *   events: ['sandbox.lifecycle.killed'],
   *   signatureSecret,
   * });
   * @wire createWebhook
   */
  async create(webhook: NewWebhook, options: RequestOptions = {}): Promise<Webhook> {
    const data = await this.#core.platform.call(
      { operation: 'webhooks.create', resource, options },
      (platform, fetch) => platform.POST('/events/webhooks', { body: toNewWebhook(webhook), fetch }),
    );
    return fromWebhook(data);
  }

  /**
   * Lists all webhooks.
   * @example
   * const active = (await client.webhooks.list()).filter(({ enabled }) => enabled);
   * @wire listWebhooks
   */
  async list(options: RequestOptions = {}): Promise<Webhook[]> {
    const data = await this.#core.platform.call({ operation: 'webhooks.list', options }, (platform, fetch) =>
      platform.GET('/events/webhooks', { fetch }),
    );
    return data.map(fromWebhook);
  }

  /**
   * Reads a webhook.
   * @throws WebhookNotFoundError
   * @example
   * const { url, events } = await client.webhooks.get(webhookId);
   * @wire getWebhook
   */
  async get(webhookId: string, options: RequestOptions = {}): Promise<Webhook> {
    const data = await this.#core.platform.call(
      { operation: 'webhooks.get', resource, options },
      (platform, fetch) =>
        platform.GET('/events/webhooks/{webhookID}', { params: { path: { webhookID: webhookId } }, fetch }),
    );
    return fromWebhook(data);
  }

  /**
   * Changes what is given and keeps the rest. A new secret signs from the next attempt on.
   * @throws WebhookNotFoundError, InvalidRequestError
   * @example
   * await client.webhooks.update(webhookId, { enabled: false });
   * @wire updateWebhook
   */
  async update(webhookId: string, change: WebhookChange, options: RequestOptions = {}): Promise<Webhook> {
    const data = await this.#core.platform.call(
      { operation: 'webhooks.update', resource, idempotent: true, options },
      (platform, fetch) =>
        platform.PATCH('/events/webhooks/{webhookID}', {
          params: { path: { webhookID: webhookId } },
          body: toChange(change),
          fetch,
        }),
    );
    return fromWebhook(data);
  }

  /**
   * Deletes a webhook. False when there was none.
   * @example
   * await client.webhooks.delete(webhookId);
   * @wire deleteWebhook
   */
  delete(webhookId: string, options: RequestOptions = {}): Promise<boolean> {
    return this.#core.platform.delete(
      { operation: 'webhooks.delete', resource, options },
      (platform, fetch) =>
        platform.DELETE('/events/webhooks/{webhookID}', {
          params: { path: { webhookID: webhookId } },
          fetch,
        }),
    );
  }

  /**
   * Lists what was sent, with every attempt: await a page, or iterate over all.
   * @throws WebhookNotFoundError
   * @example
   * for await (const delivery of client.webhooks.deliveries(webhookId, { status: 'failed' })) console.log(delivery);
   * @wire listWebhookDeliveries
   */
  deliveries(webhookId: string, options: DeliveryQuery & RequestOptions = {}): PageList<Delivery> {
    const { status, eventType, start, end, order, limit } = options;
    return new PageList(async (cursor) => {
      const query = defined({
        cursor,
        limit,
        orderAsc: order === undefined ? undefined : order === 'asc',
        start: start?.toISOString(),
        end: end?.toISOString(),
        deliveryStatus: status,
        eventType,
      });
      const data = await this.#core.platform.call(
        { operation: 'webhooks.deliveries', resource, options },
        (platform, fetch) =>
          platform.GET('/events/webhooks/{webhookID}/deliveries', {
            params: { path: { webhookID: webhookId }, query },
            fetch,
          }),
      );
      return {
        items: data.data.map(fromDelivery),
        nextToken: data.nextCursor ?? undefined,
        total: undefined,
      };
    }, options.nextToken);
  }

  /**
   * Delivers an event again, whether it arrived or not: at once, and after a failure as often as the first time. It is out of the
   * order of its sandbox: it may arrive after newer events, which do not wait for it. `webhook-id` is that of the event as before: a
   * receiver that drops what it has seen drops this too. Not repeated by the client when the answer is lost; the second call of two
   * fails with a `ConflictError` while the event is on its way.
   * @param eventId `eventId` of one of {@link deliveries}
   * @returns the delivery, `pending`, with the last 10 of its earlier attempts at most
   * @throws WebhookNotFoundError also when the event was not sent to this webhook or is no longer kept, ConflictError while the event
   * is on its way or the webhook is disabled, RateLimitError above 10 a second for the team, unless the service is set otherwise
   * @example
   * for await (const { eventId } of client.webhooks.deliveries(webhookId, { status: 'failed' }))
   *   await client.webhooks.redeliver(webhookId, eventId);
   * @wire redeliverWebhookEvent
   */
  async redeliver(webhookId: string, eventId: string, options: RequestOptions = {}): Promise<Delivery> {
    const data = await this.#core.platform.call(
      { operation: 'webhooks.redeliver', resource, options },
      (platform, fetch) =>
        platform.POST('/events/webhooks/{webhookID}/deliveries/{eventID}/redeliver', {
          params: { path: { webhookID: webhookId, eventID: eventId } },
          fetch,
        }),
    );
    return fromDelivery(data);
  }

  /**
   * Counts deliveries and their outcomes over a time span.
   * @param options `start`: default 24 hours ago; `end`: default now
   * @throws WebhookNotFoundError
   * @example
   * const stats = await client.webhooks.stats(webhookId);
   * @wire getWebhookStats
   */
  async stats(
    webhookId: string,
    options: RequestOptions & { start?: Date | undefined; end?: Date | undefined } = {},
  ): Promise<WebhookStats> {
    const query = defined({ start: options.start?.toISOString(), end: options.end?.toISOString() });
    const data = await this.#core.platform.call(
      { operation: 'webhooks.stats', resource, options },
      (platform, fetch) =>
        platform.GET('/events/webhooks/{webhookID}/stats', {
          params: { path: { webhookID: webhookId }, query },
          fetch,
        }),
    );
    return fromStats(data);
  }
}

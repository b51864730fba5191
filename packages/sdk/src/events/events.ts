import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { LifecycleEvent, LifecycleEventType } from './lifecycle-event.js';
import { fromListedEvent } from './wire.js';

/** Which events to list. */
export interface ListEventsOptions extends RequestOptions {
  /** Only those of this sandbox. */
  sandboxId?: string | undefined;
  /** Default: all. */
  types?: readonly LifecycleEventType[] | undefined;
  /** By time. Default `desc`. */
  order?: 'asc' | 'desc' | undefined;
  /** Items on a page, 1 to 100. Default 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier page: continues after it. */
  nextToken?: string | undefined;
}

const defaultLimit = 100;
/** Types are repeated here (`types=a&types=b`), unlike all other lists. */
const querySerializer = { array: { style: 'form', explode: true } } as const;

/** Events about the team's sandboxes. Kept for some days. */
export class Events {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Lists lifecycle events: await a page, or iterate over all. Pages are counted from the start of the list: with the
   * default order, events that happen meanwhile push others to later pages, where they are seen again.
   * @example
   * for await (const event of client.events.list({ limit: 100 })) console.log(event.type, event.sandboxId);
   * @wire listEvents, listSandboxEvents
   */
  list(options: ListEventsOptions = {}): PageList<LifecycleEvent> {
    const { sandboxId, types, order, limit = defaultLimit, nextToken } = options;
    return new PageList(async (token) => {
      const offset = token === undefined ? undefined : readOffset(token);
      const orderAsc = order === undefined ? undefined : order === 'asc';
      const query = defined({ offset, limit, orderAsc, types: types && [...types] });
      const data = await this.#core.platform.call({ operation: 'events.list', options }, (platform, fetch) =>
        sandboxId === undefined
          ? platform.GET('/events/sandboxes', { params: { query }, querySerializer, fetch })
          : platform.GET('/events/sandboxes/{sandboxID}', {
              params: { path: { sandboxID: sandboxId }, query },
              querySerializer,
              fetch,
            }),
      );
      const next = data.length < limit || data.length === 0 ? undefined : String((offset ?? 0) + data.length);
      return { items: data.map(fromListedEvent), nextToken: next, total: undefined };
    }, nextToken);
  }
}

function readOffset(token: string): number {
  if (/^\d+$/.test(token)) return Number(token);
  throw new InvalidRequestError('events.list: nextToken must be that of an earlier page of events.');
}

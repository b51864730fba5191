import type { Uses } from '../../sandboxes/context.js';
import { attemptDelivery } from './attempt.js';
import { dispatchEvents } from './dispatch.js';
import { findDueDeliveries, findOpenWebhooks } from './due.js';
import { type Hold, holdDelivery } from './hold.js';
import { createPoster } from './post.js';
import { type Attempting, giveTurns } from './turns.js';

/** Attempts at the same time. A webhook alone gets a third of them. */
const SLOTS = 48;
/** Longest sleep: another server may have written events, or left a delivery behind when it died. */
const IDLE_MS = 2_000;
/** Shortest one when others were faster. */
const PAUSE_MS = 20;

export interface WebhookWorker {
  /** Ends when nothing is under way any more. What is not delivered stays in the database. */
  stop(): Promise<void>;
}

type Context = Uses<
  'db' | 'dialect' | 'ids' | 'keys' | 'now' | 'config' | 'signal' | 'log' | 'metrics' | 'events' | 'tracer'
>;

/**
 * Delivers events to webhooks until it is stopped: at least once, in order for each webhook and sandbox, with any number of
 * servers on the database.
 */
export function startWebhookWorker(context: Context): WebhookWorker {
  const poster = createPoster(context.config.webhooks);
  const underWay = new Map<Promise<void>, Attempting>();
  let stopped = false;
  let wake = () => {};
  const unsubscribe = context.events.onCommitted(() => wake());

  const loop = async () => {
    while (!stopped) {
      const signalled = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        const pause = await round();
        if (pause > 0) await sleepUntil(signalled, pause);
      } catch (error) {
        if (stopped) return;
        context.log.error({ err: error }, 'webhook deliveries: will try again');
        await sleepUntil(signalled, IDLE_MS);
      }
    }
  };

  /** @returns how long there is nothing to do unless one is woken, ms; 0 when there may be more at once */
  const round = async (): Promise<number> => {
    const taken = await dispatchEvents(context);
    if (underWay.size >= SLOTS) return IDLE_MS;
    const open = await findOpenWebhooks(context);
    const due = open.filter(({ dueInMs }) => dueInMs <= 0).sort((a, b) => a.dueInMs - b.dueInMs);
    const turns = giveTurns(due, [...underWay.values()], SLOTS);
    let started = 0;
    for (const [webhookId, count] of turns)
      for (const delivery of await findDueDeliveries(context, webhookId, count)) {
        const hold = await holdDelivery(context, delivery);
        if (hold === undefined) continue;
        started++;
        start(hold);
      }
    if (taken > 0 || started > 0) return 0;
    const next = open.filter(({ dueInMs }) => dueInMs > 0).map(({ dueInMs }) => dueInMs);
    return Math.min(IDLE_MS, ...next, ...(turns.size > 0 ? [PAUSE_MS] : []));
  };

  const start = (hold: Hold) => {
    const { id, webhook_id, team_id } = hold.delivery;
    const attempt = attemptDelivery(context, poster, hold)
      .catch((error: unknown) => {
        if (!stopped) context.log.error({ err: error, deliveryId: id }, 'a webhook delivery broke off');
      })
      .finally(() => {
        underWay.delete(attempt);
        wake();
      });
    underWay.set(attempt, { webhookId: webhook_id, teamId: team_id });
  };

  const running = loop();
  return {
    async stop() {
      stopped = true;
      unsubscribe();
      wake();
      await running;
      await Promise.allSettled(underWay.keys());
      await poster.close();
    },
  };
}

function sleepUntil(signalled: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void signalled.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

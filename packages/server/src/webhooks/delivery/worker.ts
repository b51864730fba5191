import type { Uses } from '../../context/context.js';
import { attemptDelivery } from './attempt.js';
import { dispatchEvents } from './dispatch.js';
import { claimDelivery, findDueDeliveries, nextDueAt } from './due.js';
import { createPoster } from './post.js';

const CONCURRENCY = 32;
/** Longest sleep: another server may have written events, or left a delivery behind when it died. */
const IDLE_MS = 2_000;
const LEASE_MARGIN_MS = 10_000;

export interface WebhookWorker {
  /** Ends when nothing is under way any more. What is not delivered stays in the database. */
  stop(): Promise<void>;
}

type Context = Uses<
  'db' | 'dialect' | 'ids' | 'keys' | 'now' | 'config' | 'signal' | 'log' | 'metrics' | 'events' | 'tracer'
>;

/** Delivers events to webhooks until it is stopped: at least once, in order for each webhook and sandbox. */
export function startWebhookWorker(context: Context): WebhookWorker {
  const poster = createPoster(context.config.webhooks);
  const underWay = new Set<Promise<void>>();
  let stopped = false;
  let wake = () => {};
  const unsubscribe = context.events.onCommitted(() => wake());

  const loop = async () => {
    while (!stopped) {
      const signalled = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        if (await round()) continue;
        const due = await nextDueAt(context.db);
        const pause =
          underWay.size >= CONCURRENCY || due === undefined ? IDLE_MS : Math.max(5, due - context.now());
        await sleepUntil(signalled, Math.min(pause, IDLE_MS));
      } catch (error) {
        if (stopped) return;
        context.log.error({ err: error }, 'webhook deliveries: will try again');
        await sleepUntil(signalled, IDLE_MS);
      }
    }
  };

  /** @returns whether there may be more to do at once */
  const round = async (): Promise<boolean> => {
    const taken = await dispatchEvents(context);
    const room = CONCURRENCY - underWay.size;
    if (room <= 0) return false;
    const now = context.now();
    const due = await findDueDeliveries(context.db, now, room);
    const leaseEnd = now + context.config.webhooks.timeoutMs + LEASE_MARGIN_MS;
    let started = 0;
    for (const delivery of due) {
      const claimed = await claimDelivery(context.db, delivery, leaseEnd);
      if (claimed === undefined) continue;
      started++;
      const attempt = attemptDelivery(context, poster, claimed)
        .catch((error: unknown) => {
          if (!stopped)
            context.log.error({ err: error, deliveryId: delivery.id }, 'a webhook delivery broke off');
        })
        .finally(() => {
          underWay.delete(attempt);
          wake();
        });
      underWay.add(attempt);
    }
    return taken > 0 || (started > 0 && started === room);
  };

  const running = loop();
  return {
    async stop() {
      stopped = true;
      unsubscribe();
      wake();
      await running;
      await Promise.allSettled(underWay);
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

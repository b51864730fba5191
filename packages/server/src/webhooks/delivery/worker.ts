import type { Uses } from '../../sandboxes/context.js';
import { attemptDelivery, type Lease, leaseDelivery } from './attempt.js';
import { createPoster } from './post.js';
import { dispatchEvents, findDueDeliveries, findOpenWebhooks } from './queue.js';

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
    const turns = shareSlots(due, [...underWay.values()], SLOTS);
    let started = 0;
    for (const [webhookId, count] of turns)
      for (const delivery of await findDueDeliveries(context, webhookId, count)) {
        const lease = await leaseDelivery(context, delivery);
        if (lease === undefined) continue;
        started++;
        start(lease);
      }
    if (taken > 0 || started > 0) return 0;
    const next = open.filter(({ dueInMs }) => dueInMs > 0).map(({ dueInMs }) => dueInMs);
    return Math.min(IDLE_MS, ...next, ...(turns.size > 0 ? [PAUSE_MS] : []));
  };

  const start = (lease: Lease) => {
    const { id, webhook_id, team_id } = lease.delivery;
    const attempt = attemptDelivery(context, poster, lease)
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

/** Attempts that are under way or about to be, of whom. */
export interface Attempting {
  webhookId: string;
  teamId: string;
}

/**
 * Divides free slots among webhooks that have something due: one after the other, each to the webhook of the team that has
 * fewest, and of those to the one that has fewest itself.
 *
 * A webhook gets one more only while it has, together with its team, fewer than are free. So one that does not answer takes a
 * third of all slots at most, all of its team's a half, and those of many such teams leave some to the next one.
 * @param due webhooks in the order that decides between equal ones
 * @param underWay what is under way on this server, once for each attempt
 * @param slots of all: free ones and those under way
 * @returns how many attempts each may begin at most; webhooks that may begin none are not in it
 */
export function shareSlots(
  due: readonly Attempting[],
  underWay: readonly Attempting[],
  slots: number,
): Map<string, number> {
  const ofTeam = new Map<string, number>();
  const ofWebhook = new Map<string, number>();
  const given = new Map<string, number>();
  const take = ({ webhookId, teamId }: Attempting) => {
    ofTeam.set(teamId, (ofTeam.get(teamId) ?? 0) + 1);
    ofWebhook.set(webhookId, (ofWebhook.get(webhookId) ?? 0) + 1);
  };
  const load = ({ webhookId, teamId }: Attempting) => ({
    team: ofTeam.get(teamId) ?? 0,
    webhook: ofWebhook.get(webhookId) ?? 0,
  });
  for (const one of underWay) take(one);
  for (let free = slots - underWay.length; free > 0; free--) {
    let next: Attempting | undefined;
    for (const one of due) {
      const { team, webhook } = load(one);
      if (team + webhook >= free) continue;
      const best = next === undefined ? undefined : load(next);
      if (best === undefined || team < best.team || (team === best.team && webhook < best.webhook))
        next = one;
    }
    if (next === undefined) break;
    take(next);
    given.set(next.webhookId, (given.get(next.webhookId) ?? 0) + 1);
  }
  return given;
}

import type { Uses } from '../../cluster/context.js';
import { databaseProblem } from '../../storage/health.js';
import type { MetricFamily } from './metrics-page.js';

const gauge = (name: string, help: string, samples: MetricFamily['samples']): MetricFamily => ({
  ...{ name, help, samples },
  type: 'gauge',
});

/** What waits: sandboxes in the pool for somebody, and webhooks and builds for the server. */
export async function backlogMetrics(
  context: Uses<'builds' | 'db' | 'driver' | 'now'>,
): Promise<MetricFamily[]> {
  const pool = await context.driver.poolState();
  return [
    gauge('svc_pool_sandboxes', 'Sandboxes that wait booted, and how many are to.', [
      { value: pool.waiting, labels: { state: 'waiting' } },
      { value: pool.wanted, labels: { state: 'wanted' } },
    ]),
    gauge('svc_pool_memory_bytes', 'Memory that those that wait use.', [{ value: pool.memoryBytes }]),
    {
      name: 'svc_pool_requests_total',
      help: 'New sandboxes that found one waiting (hit) and that found none (miss).',
      type: 'counter',
      samples: [
        { value: pool.hits, labels: { outcome: 'hit' } },
        { value: pool.misses, labels: { outcome: 'miss' } },
      ],
    },
    gauge('svc_builds', 'Template builds that run or wait here.', [{ value: context.builds.size }]),
    ...(await databaseMetrics(context)),
  ];
}

/** Whether the database answers and how fast, and what is in it for all servers that share it. */
async function databaseMetrics({ db, now }: Uses<'db' | 'now'>): Promise<MetricFamily[]> {
  const from = performance.now();
  const up = (await databaseProblem(db)) === undefined;
  const state = [
    gauge('svc_database_up', '1 while the database answers.', [{ value: up ? 1 : 0 }]),
    gauge('svc_database_answer_seconds', 'How long it took to answer the question whether it does.', [
      { value: (performance.now() - from) / 1000 },
    ]),
  ];
  if (!up) return state;
  const { pending, oldest } = await db
    .selectFrom('webhook_deliveries')
    .select((build) => [
      build.fn.countAll<number>().as('pending'),
      // What is delivered again waits since it was asked for.
      build.fn.min<number | null>(build.fn.coalesce('redelivered_at', 'created_at')).as('oldest'),
    ])
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  return [
    ...state,
    gauge('svc_webhook_deliveries_pending', 'Events that webhooks have not got yet, on all servers.', [
      { value: Number(pending) },
    ]),
    gauge('svc_webhook_oldest_pending_seconds', 'Age of the oldest of them.', [
      { value: oldest === null ? 0 : Math.max(0, (now() - Number(oldest)) / 1000) },
    ]),
  ];
}

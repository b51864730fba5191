import type { Uses } from '../../cluster/context.js';
import { countNodes } from '../../cluster/fleet/count-nodes.js';
import type { MetricFamily } from './metrics-page.js';

/** The servers that share the database, as metrics. */
export async function nodeMetrics(context: Uses<'db' | 'nodes'>): Promise<MetricFamily[]> {
  const counts = await countNodes(context);
  if (counts === undefined) return [];
  return [
    {
      name: 'svc_nodes',
      help: 'Servers that share the database; drained ones are among those that are alive.',
      type: 'gauge',
      samples: Object.entries(counts).map(([state, value]) => ({ value, labels: { state } })),
    },
  ];
}

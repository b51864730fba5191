import type { GatewayStats } from '../../gateway/index.js';
import type { MetricFamily } from './metrics-page.js';

const family = (type: MetricFamily['type']) => (name: string, help: string, value: number) => ({
  name: `svc_gateway_${name}`,
  help,
  type,
  samples: [{ value }],
});
const counter = family('counter');
const gauge = family('gauge');

/** What the gateway counted, as metrics. */
export function gatewayMetrics(stats: GatewayStats): MetricFamily[] {
  const refusals = Object.entries(stats.refusals).map(([reason, value]) => ({ value, labels: { reason } }));
  return [
    counter('requests_total', 'Requests for sandboxes, refused ones included.', stats.requests),
    counter('upgrades_total', 'Requests to switch protocols.', stats.upgrades),
    gauge('open_requests', 'Requests on their way through.', stats.openRequests),
    gauge('open_upgrades', 'Upgraded connections.', stats.openUpgrades),
    {
      name: 'svc_gateway_refusals_total',
      help: 'Answers that the gateway gave by itself.',
      type: 'counter',
      samples: refusals,
    },
    counter('client_aborts_total', 'Exchanges that the client left early.', stats.clientAborts),
    counter('upstream_aborts_total', 'Answers that broke at the sandbox.', stats.upstreamAborts),
    counter(
      'closed_exchanges_total',
      'Exchanges ended because their sandbox stopped.',
      stats.closedExchanges,
    ),
    counter(
      'auto_resumes_total',
      'Sandboxes woken by a request, failed attempts included.',
      stats.autoResumes,
    ),
    counter('dials_total', 'Connections into sandboxes that were begun.', stats.dials),
    counter('dial_retries_total', 'Further tries of a dial.', stats.dialRetries),
    counter('dial_failures_total', 'Dials that failed.', stats.dialFailures),
    counter('reused_connections_total', 'Requests sent on a kept connection.', stats.reusedConnections),
    gauge('idle_connections', 'Connections into sandboxes that wait for a request.', stats.idleConnections),
    counter('request_bytes_total', 'Bytes of request bodies.', stats.requestBytes),
    counter('response_bytes_total', 'Bytes of response bodies.', stats.responseBytes),
  ];
}

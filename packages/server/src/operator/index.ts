export { backlogMetrics } from './backlog-metrics.js';
export { connectionMetrics } from './connection-metrics.js';
export { egressMetrics } from './egress-metrics.js';
export { gatewayMetrics } from './gateway-metrics.js';
export type { MetricFamily, Sample } from './metrics-page.js';
export type { OpenMetrics } from './open-metrics.js';
export { type OperatorDeps, type OperatorServer, startOperatorServer } from './operator-server.js';
export { processMetrics } from './process-metrics.js';
export { tracingMetrics } from './tracing-metrics.js';

export { connectionMetrics } from './connection-metrics.js';
export { egressMetrics } from './egress-metrics.js';
export { gatewayMetrics } from './gateway-metrics.js';
export { type OperatorDeps, type OperatorServer, startOperatorServer } from './operator-server.js';
export { processMetrics } from './process-metrics.js';
export { type MetricFamily, renderMetrics, type Sample } from './prometheus.js';
export { tracingMetrics } from './tracing-metrics.js';

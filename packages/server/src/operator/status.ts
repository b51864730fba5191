import type { ServerContext } from '../context.js';
import type { MetricFamily } from './prometheus.js';

export interface ServerStatus {
  state: 'running' | 'draining';
  nodeId: string;
  apiUrl: string;
  sandboxUrl: string;
  driver: { name: string; summary: string; why: string; capabilities: unknown };
  storage: string;
  uptimeSeconds: number;
  sandboxes: { running: number; paused: number; changing: number; most: number };
}

/** What `svc server status` shows. */
export function statusOf(context: ServerContext, driverReason: string, startedAtMs: number): ServerStatus {
  const { config, driver } = context;
  return {
    state: context.draining() ? 'draining' : 'running',
    nodeId: config.nodeId,
    apiUrl: config.apiUrl,
    sandboxUrl: config.sandboxUrl,
    driver: {
      name: driver.name,
      summary: driver.summary,
      why: driverReason,
      capabilities: driver.capabilities,
    },
    storage: context.dialect,
    uptimeSeconds: Math.floor((context.now() - startedAtMs) / 1000),
    sandboxes: { ...countSandboxes(context), most: config.maxSandboxes },
  };
}

/** Sandboxes held by this process. */
export function countSandboxes(context: ServerContext): {
  running: number;
  paused: number;
  changing: number;
} {
  const counts = { running: 0, paused: 0, changing: 0 };
  for (const live of context.sandboxes.values()) {
    if (live.transition !== undefined) counts.changing += 1;
    else if (live.row.state === 'running') counts.running += 1;
    else counts.paused += 1;
  }
  return counts;
}

/** The sandboxes of this process, as metrics. */
export function sandboxMetrics(context: ServerContext): MetricFamily[] {
  return [
    {
      name: 'svc_sandboxes',
      help: 'Sandboxes held by this server.',
      type: 'gauge',
      samples: Object.entries(countSandboxes(context)).map(([state, value]) => ({
        value,
        labels: { state },
      })),
    },
  ];
}

import type { operatorComponents } from '@svc/platform/operator';
import { fromJson } from '../storage/json.js';
import type { NodeReport } from '../storage/json-shapes.js';
import type { NodeRow } from './list-nodes.js';

type Schemas = operatorComponents['schemas'];

export function nodeToWire(row: NodeRow): Schemas['Node'] {
  const report = fromJson(row.report);
  return {
    nodeID: row.id,
    state: row.alive ? 'alive' : row.silentMs === undefined ? 'stopped' : 'silent',
    apiUrl: row.api_url,
    sandboxUrl: row.sandbox_url,
    lastSeenSeconds: row.silentMs === undefined ? null : Math.floor(row.silentMs / 1000),
    drain: row.drain,
    sandboxes: { running: row.running, paused: row.paused },
    report: isWhole(report) ? reportToWire(report) : null,
  };
}

/** Before the first heartbeat there is none. */
function isWhole(report: Partial<NodeReport>): report is NodeReport {
  return report.version !== undefined;
}

function reportToWire({
  clusterId: _,
  memoryFreeMiB,
  memoryTotalMiB,
  diskFreeMiB,
  demand: _demand,
  machine: _machine,
  ...rest
}: NodeReport): Schemas['NodeReport'] {
  return { ...rest, memoryFreeMB: memoryFreeMiB, memoryTotalMB: memoryTotalMiB, diskFreeMB: diskFreeMiB };
}

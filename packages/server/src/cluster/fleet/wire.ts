import type { operatorComponents } from '@svc/platform/operator';
import { fromJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
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
    moving: movingOf(row, report),
    report: isWhole(report) ? reportToWire(report) : null,
  };
}

/** What it told last, and what has come to it since by the records. Once it is to keep what it has, that counts for nothing. */
function movingOf(
  { drain, running, paused }: NodeRow,
  { moving }: Partial<NodeReport>,
): Schemas['NodeMoving'] | null {
  if (drain !== 'move' || moving === undefined) return null;
  const staying = moving.stays.filter(({ kind }) => kind === 'sandbox').length;
  // Of many that stay it is not told what they are.
  const unknown = moving.staysTotal - moving.stays.length;
  return { ...moving, sandboxes: Math.max(moving.sandboxes, running + paused - staying - unknown) };
}

/** Before the first heartbeat there is none. */
function isWhole(report: Partial<NodeReport>): report is NodeReport {
  return report.version !== undefined;
}

function reportToWire({
  clusterId: _,
  clusterHolder: _holder,
  memoryFreeMiB,
  memoryTotalMiB,
  diskFreeMiB,
  demand: _demand,
  machine: _machine,
  moving: _moving,
  ...rest
}: NodeReport): Schemas['NodeReport'] {
  return { ...rest, memoryFreeMB: memoryFreeMiB, memoryTotalMB: memoryTotalMiB, diskFreeMB: diskFreeMiB };
}

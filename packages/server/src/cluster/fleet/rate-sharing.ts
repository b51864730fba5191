import { fromJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import type { Uses } from '../context.js';
import { nodeIsAlive } from '../nodes/database-clock.js';

export interface RateSharing {
  /** Adds what teams asked this node for since the last call. */
  tell(report: NodeReport | undefined): NodeReport | undefined;
  /** Takes over what the nodes that live have told. */
  read(): Promise<void>;
}

/** Divides the rates of teams among the nodes, with each heartbeat. */
export function rateSharing({ db, nodes, rates }: Uses<'db' | 'nodes' | 'rates'>): RateSharing {
  let toldAtMs = performance.now();
  return {
    tell(report) {
      if (report === undefined || rates.shares === undefined) return report;
      const now = performance.now();
      const demand = rates.shares.takeDemand(now - toldAtMs);
      toldAtMs = now;
      return { ...report, demand };
    },
    async read() {
      if (rates.shares === undefined) return;
      const rows = await db.selectFrom('nodes').select(['id', 'report']).where(nodeIsAlive).execute();
      const own = rows.findIndex(({ id }) => id === nodes.nodeId);
      // Others take this node for dead, and have its share.
      if (own === -1) return;
      rates.shares.update(
        rows.map(({ report }) => fromJson(report).demand ?? {}),
        own,
      );
    },
  };
}

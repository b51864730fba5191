import type { NodeRecord } from '../../api/context/nodes.js';
import { fromJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import type { Database } from '../../storage/schema.js';
import type { Place } from './order-places.js';
import { nodeIsAlive, toNodeRecord } from './registry.js';

/** Lifetime of the cached list of nodes, ms. */
const TTL_MS = 1_000;
/** Time for which a node that did not answer gets no new sandboxes, ms: its heartbeat stops meanwhile, or it is back. */
const AVOID_MS = 10_000;

interface Member {
  record: NodeRecord;
  drained: boolean;
  report: NodeReport | undefined;
  heartbeatAtMs: number;
}

/** The live nodes, for the placement of sandboxes. */
export class Fleet {
  readonly #options: { db: Database; nodeId: string; now: () => number };
  readonly #sent = new Map<string, { heartbeatAtMs: number; count: number }>();
  readonly #avoided = new Map<string, number>();
  #members: Promise<Member[]> | undefined;
  #readAtMs = 0;

  constructor(options: { db: Database; nodeId: string; now: () => number }) {
    this.#options = options;
  }

  /** All nodes that live and answered lately. */
  async places(): Promise<{ place: Place; record: NodeRecord }[]> {
    const now = this.#options.now();
    const members = await this.#read(now);
    return members
      .filter(({ record }) => (this.#avoided.get(record.id) ?? 0) <= now)
      .map(({ record, drained, report, heartbeatAtMs }) => {
        const sent = this.#sent.get(record.id);
        return {
          record,
          place: {
            nodeId: record.id,
            here: record.id === this.#options.nodeId,
            drained,
            report,
            sent: sent?.heartbeatAtMs === heartbeatAtMs ? sent.count : 0,
          },
        };
      });
  }

  /** Says that a sandbox was placed there: the next report will have it. */
  async sent(nodeId: string): Promise<void> {
    const member = (await this.#read(this.#options.now())).find(({ record }) => record.id === nodeId);
    if (member === undefined) return;
    const { heartbeatAtMs } = member;
    const known = this.#sent.get(nodeId);
    const count = known?.heartbeatAtMs === heartbeatAtMs ? known.count + 1 : 1;
    this.#sent.set(nodeId, { heartbeatAtMs, count });
  }

  /** Says that a node did not answer. */
  avoid(nodeId: string): void {
    this.#avoided.set(nodeId, this.#options.now() + AVOID_MS);
  }

  #read(now: number): Promise<Member[]> {
    if (this.#members === undefined || Math.abs(now - this.#readAtMs) >= TTL_MS) {
      this.#readAtMs = now;
      const reading = readMembers(this.#options.db);
      this.#members = reading;
      reading.catch(() => {
        if (this.#members === reading) this.#members = undefined;
      });
    }
    return this.#members;
  }
}

async function readMembers(db: Database): Promise<Member[]> {
  const rows = await db.selectFrom('nodes').selectAll().where(nodeIsAlive).orderBy('id').execute();
  return rows.map((row) => {
    const report = fromJson(row.report);
    return {
      record: toNodeRecord(row),
      drained: row.drain !== 'no',
      report: report.version === undefined ? undefined : (report as NodeReport),
      heartbeatAtMs: row.heartbeat_at,
    };
  });
}

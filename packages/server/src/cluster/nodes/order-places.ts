import type { NodeReport } from '../../storage/json-shapes.js';

/** A node that a new sandbox could be placed on. */
export interface Place {
  nodeId: string;
  /** True for the node that asks: it costs no detour. */
  here: boolean;
  drained: boolean;
  /** Undefined: it has not reported yet. */
  report: NodeReport | undefined;
  /** Sandboxes that this node has placed there since that report. */
  sent: number;
}

/** The value of a place in the pool, as a share of a node: a start from it takes a tenth of the time. */
const POOL_WORTH = 0.1;
/** The value of staying on the node that was asked. */
const HERE_WORTH = 0.02;
/** Sandboxes for each processor that make a node look as full as one whose memory is used up. */
const SANDBOXES_PER_CPU = 50;
/** A node with less than this share of its memory free refuses new sandboxes. */
const MEMORY_KEPT = 0.1;

/**
 * In which order to try nodes for a new sandbox: the emptiest first, by memory, processors and number of sandboxes, one with
 * a fitting place in its pool before others; those that seem full last, as they may not be any more. Drained ones are left out.
 * @param need what the sandbox may use
 */
export function orderPlaces(
  places: readonly Place[],
  need: { memoryMiB: number; pooled: boolean },
): string[] {
  return places
    .filter((place) => !place.drained)
    .map((place) => ({ place, full: isFull(place, need), cost: costOf(place, need) }))
    .sort((a, b) => Number(a.full) - Number(b.full) || a.cost - b.cost || compare(a.place, b.place))
    .map(({ place }) => place.nodeId);
}

/** Returns whether a node seems to have no room for a sandbox that is to run. */
export function isFull({ report, sent }: Place, need: { memoryMiB: number }): boolean {
  if (report === undefined) return false;
  const { running, maxSandboxes, memoryFreeMiB, memoryTotalMiB } = report;
  // Sandboxes rarely use at once what they may: no more than an eighth of the machine must be free for one.
  const wantedMiB = Math.min(need.memoryMiB, memoryTotalMiB / 8);
  return running + sent >= maxSandboxes || memoryFreeMiB - wantedMiB < memoryTotalMiB * MEMORY_KEPT;
}

function costOf({ report, sent, here }: Place, need: { pooled: boolean }): number {
  const near = here ? HERE_WORTH : 0;
  if (report === undefined) return 0.5 - near;
  const running = report.running + sent;
  const shares = [
    1 - report.memoryFreeMiB / Math.max(1, report.memoryTotalMiB),
    Math.min(1, report.load / report.cpuCount),
    running / Math.max(1, report.maxSandboxes),
  ];
  const crowd = running / (report.cpuCount * SANDBOXES_PER_CPU);
  const pool = need.pooled && report.pooled > sent ? POOL_WORTH : 0;
  return shares.reduce((sum, share) => sum + share, 0) / shares.length + crowd - pool - near;
}

const compare = (a: Place, b: Place) => (a.nodeId < b.nodeId ? -1 : 1);

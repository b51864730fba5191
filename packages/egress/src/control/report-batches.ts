import type { EgressReport } from './types.js';

/** Reports from which on a batch is full. */
const FULL = 500;

/**
 * Cuts what happened since the last time into messages, so that many sandboxes with many destinations stay far below what a
 * reader takes at once. All of one sandbox stand in one message: its reader may show the first and count the rest.
 */
export function reportBatches(reports: readonly EgressReport[]): EgressReport[][] {
  const bySandbox = new Map<string, EgressReport[]>();
  for (const report of reports) {
    const known = bySandbox.get(report.sandboxId);
    if (known === undefined) bySandbox.set(report.sandboxId, [report]);
    else known.push(report);
  }
  const batches: EgressReport[][] = [];
  let batch: EgressReport[] = [];
  for (const some of bySandbox.values()) {
    batch.push(...some);
    if (batch.length < FULL) continue;
    batches.push(batch);
    batch = [];
  }
  return batch.length === 0 ? batches : [...batches, batch];
}

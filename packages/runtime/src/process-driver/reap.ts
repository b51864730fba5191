import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readEnvironment, readProcessTable } from '../shared/process-table.js';
import type { RetryLater } from '../shared/retry-later.js';
import { removeTree } from './file-sets.js';
import type { Paths } from './paths.js';
import { killTree, MARKER } from './process-tree.js';
import { readRecord } from './record.js';

/**
 * Removes every instance directory and process but those of `keptSlots`. Names what it removed; what cannot be removed is
 * left to `cleanUp`.
 */
export async function reapLeaked(
  paths: Paths,
  keptSlots: ReadonlySet<string>,
  cleanUp: RetryLater,
): Promise<string[]> {
  const removed: string[] = [];
  const onDisk = await readdir(paths.instances);
  const slots = new Set([...onDisk, ...runningSlots(paths.instances)]);
  for (const slot of slots) {
    if (keptSlots.has(slot)) continue;
    const directory = join(paths.instances, slot);
    const record = await readRecord(directory);
    const deleted = await cleanUp.attempt(`instance directory ${slot}`, async () => {
      await killTree({ home: join(directory, 'home') });
      await removeTree(directory);
    });
    if (!deleted) continue;
    removed.push(
      record?.phase === 'ready' ? `instance ${record.id}` : `half-made or pooled instance ${slot}`,
    );
  }
  return removed;
}

/** Slots that living processes say they belong to, whether or not the directory is still there. */
function runningSlots(instances: string): string[] {
  const mark = new RegExp(`^(?:HOME|${MARKER})=${escapeForRegExp(instances)}/([a-z0-9]+)/home$`);
  return readProcessTable().flatMap(({ pid }) =>
    readEnvironment(pid).flatMap((entry) => mark.exec(entry)?.[1] ?? []),
  );
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

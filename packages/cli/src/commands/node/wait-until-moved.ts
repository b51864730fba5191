import { setTimeout as sleep } from 'node:timers/promises';
import type { OperatedNode } from '@svc/sdk/operator';

/** Between two looks, ms: a node tells how far it is with each heartbeat. */
const LOOK_MS = 1_000;

/** What follows from how a node stands. */
export type MoveProgress =
  | { kind: 'moving'; text: string }
  /** `left`: all left. `stays`: the rest cannot as things are. `stopped`: it empties itself no more. */
  | { kind: 'left' | 'stays' | 'stopped' };

/** Pure. */
export function moveProgress({ drain, state, moving }: OperatedNode): MoveProgress {
  if (drain !== 'move') return { kind: 'stopped' };
  if (state !== 'alive') return { kind: 'moving', text: `its server is ${state}: nothing leaves meanwhile` };
  if (moving === undefined) return { kind: 'moving', text: 'begins' };
  const { sandboxes, templates, staysTotal } = moving;
  if (sandboxes + templates > 0)
    return {
      kind: 'moving',
      text: `${sandboxes} sandboxes and ${templates} snapshots or templates are to leave${staysTotal > 0 ? `, ${staysTotal} things cannot` : ''}`,
    };
  return { kind: staysTotal > 0 ? 'stays' : 'left' };
}

/** What stays on a node and why, a line each. Pure. */
export function stayingLines({ moving }: Pick<OperatedNode, 'moving'>): string[] {
  if (moving === undefined) return [];
  const lines = moving.stays.map(({ kind, id, reason }) => `${kind} ${id} stays: ${reason}`);
  const more = moving.staysTotal - moving.stays.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/**
 * Waits until nothing of a node is left to move.
 * @param find reads how it stands; undefined: there is no such node any more
 * @param tell is told how far it is
 */
export async function waitUntilMoved(
  find: () => Promise<OperatedNode | undefined>,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<{ node: OperatedNode | undefined; kind: 'left' | 'stays' | 'stopped' }> {
  for (;;) {
    const node = await find();
    if (node === undefined) return { node, kind: 'left' };
    const progress = moveProgress(node);
    if (progress.kind !== 'moving') return { node, kind: progress.kind };
    tell(progress.text);
    await sleep(LOOK_MS, undefined, { signal });
  }
}

import { EventType } from '@svc/daemon/gen';
import type { Snapshot } from './snapshot.js';

/** What the system reported about one name in one batch, and how the name looked before and looks now. */
export interface Observation {
  before: Snapshot | undefined;
  after: Snapshot | undefined;
  /** Reports that the name came, went or was replaced. */
  renames: number;
  /** Reports that content or attributes changed. */
  changes: number;
  /** The report of its going stands directly before another name's coming, as the two halves of a move do. */
  followedByArrival: boolean;
}

/** What a batch means for one of its observations. */
export interface Classified {
  types: EventType[];
  /** The entry is there under this name for the first time. */
  arrived: boolean;
  /** It was in the same tree under another name before. */
  moved: boolean;
}

/** Tells what happened, for a whole batch at once: a move shows as one inode leaving a name and coming to another. */
export function classifyBatch(batch: readonly Observation[]): Classified[] {
  const left = new Set<string>();
  const came = new Set<string>();
  for (const { before, after } of batch) {
    if (before && before.id !== after?.id) left.add(before.id);
    if (after && after.id !== before?.id) came.add(after.id);
  }
  return batch.map((observation) => classify(observation, left, came));
}

function classify(seen: Observation, left: ReadonlySet<string>, came: ReadonlySet<string>): Classified {
  const { before, after } = seen;
  const { CREATE, REMOVE, RENAME } = EventType;
  if (!after) {
    if (before) return gone([came.has(before.id) ? RENAME : REMOVE]);
    // It came and went between two looks. With one report it is no child of the directory at all.
    return gone(seen.renames < 2 ? [] : [CREATE, seen.followedByArrival ? RENAME : REMOVE]);
  }
  if (before?.id === after.id) return { types: changesOf(seen, before, after), arrived: false, moved: false };
  const types: EventType[] = [];
  if (before && came.has(before.id)) types.push(RENAME);
  // One report alone means that something was moved over it.
  else if (before && seen.renames > 1) types.push(REMOVE);
  types.push(CREATE);
  const moved = left.has(after.id);
  if (!moved && seen.changes > 0 && hasContent(after)) types.push(EventType.WRITE);
  return { types, arrived: true, moved };
}

function gone(types: EventType[]): Classified {
  return { types, arrived: false, moved: false };
}

function changesOf(seen: Observation, before: Snapshot, after: Snapshot): EventType[] {
  const types: EventType[] = [];
  const written = !after.directory && (before.mtime !== after.mtime || before.size !== after.size);
  // Attributes that are not remembered (links, extended ones) show in the time of change alone.
  const touched = !after.directory && !written && before.ctime !== after.ctime;
  if (before.access !== after.access || touched) types.push(EventType.CHMOD);
  if (written || (seen.changes > 0 && before.unreportedContent && types.length === 0))
    types.push(EventType.WRITE);
  return types;
}

/** Whether a write must have happened for the entry to look like this. */
export function hasContent(snapshot: Snapshot): boolean {
  return !snapshot.directory && snapshot.size > 0n;
}

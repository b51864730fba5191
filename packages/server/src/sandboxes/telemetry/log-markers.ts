import { fromJson, type Json } from '../../storage/json.js';
import type { LogEntry } from '../daemon/log-page.js';

/** An entry that the service itself writes into a sandbox's log in place of lines that were lost. */
type Marker = Pick<LogEntry, 'level' | 'message' | 'fields'>;

const lines = (count: number) => (count === 1 ? '1 line was' : `${count} lines were`);

/** Lines that the daemon had no room for before they were collected. */
export function droppedByDaemon(count: number): Marker {
  return {
    level: 'warn',
    message: `[svc] ${lines(count)} dropped here: printed faster than the log is collected, with room for 1 MiB in between`,
    fields: { dropped: String(count), reason: 'rate' },
  };
}

/** Entries that were dropped because the log was full. */
export function droppedBySize(count: number, maxBytes: number): Marker {
  return {
    level: 'warn',
    message: `[svc] ${lines(count)} dropped before this: the log of a sandbox keeps its latest ${maxBytes} bytes`,
    fields: { dropped: String(count), reason: 'size' },
  };
}

/** How many entries a size marker stands for, by its stored fields; undefined for any other entry. */
export function countOfSizeMarker(fields: Json<Record<string, string>>): number | undefined {
  if (!fields.includes('"reason":"size"')) return undefined;
  const { dropped, pid } = fromJson(fields);
  return pid === undefined && dropped !== undefined ? Number(dropped) : undefined;
}

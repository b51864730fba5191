import { DaemonProtocolError } from '@svc/daemon/dial';
import { parseBoundedJson } from '../../api/wire/bounded-json.js';

export interface LogEntry {
  /** The daemon's number, above that of the entry before. */
  seq: number;
  /** Milliseconds since the epoch. */
  at: number;
  level: string;
  message: string;
  fields: Record<string, string>;
}

/** The output of processes, as the daemon reports it. */
export interface LogPage {
  entries: LogEntry[];
  /** Lines before the first entry that were dropped before they could be read. */
  dropped: number;
}

/** As long as the daemon's own lines at most. */
const MAX_MESSAGE_LENGTH = 16 * 1024;
const MAX_FIELDS = 8;
const MAX_FIELD_LENGTH = 256;

/**
 * Reads the answer of `GET /logs`. It comes from inside a sandbox: numbers must rise, everything has a size, and what is
 * not of its type makes the page invalid.
 * @throws {DaemonProtocolError}
 */
export function readLogPage(answer: Buffer, asked: { after: number; limit: number }): LogPage {
  let page: unknown;
  try {
    // Each entry has five members, three fields among them.
    page = parseBoundedJson(answer, { maxDepth: 4, maxValues: 20 * asked.limit + 100 });
  } catch (error) {
    throw new DaemonProtocolError('GET /logs: not a page of logs', { cause: error });
  }
  const entries = isRecord(page) ? page.entries : undefined;
  if (!Array.isArray(entries) || entries.length > asked.limit) throw invalid('entries');
  const { dropped } = page as Record<string, unknown>;
  let last = asked.after;
  return {
    // Earlier daemons do not report this count.
    dropped: Number.isSafeInteger(dropped) && (dropped as number) > 0 ? (dropped as number) : 0,
    entries: entries.map((entry: unknown) => {
      const read = readEntry(entry, last);
      last = read.seq;
      return read;
    }),
  };
}

function readEntry(entry: unknown, last: number): LogEntry {
  if (!isRecord(entry)) throw invalid('an entry');
  const { seq, timestamp, level, message, fields } = entry;
  if (!Number.isSafeInteger(seq) || (seq as number) <= last) throw invalid('seq');
  const at = typeof timestamp === 'string' && timestamp.length <= 64 ? Date.parse(timestamp) : Number.NaN;
  if (!Number.isSafeInteger(at)) throw invalid('timestamp');
  if (typeof level !== 'string' || typeof message !== 'string') throw invalid('an entry');
  return {
    seq: seq as number,
    at,
    level,
    message: message.slice(0, MAX_MESSAGE_LENGTH),
    fields: fields === undefined ? {} : readFields(fields),
  };
}

function readFields(fields: unknown): Record<string, string> {
  if (!isRecord(fields)) throw invalid('fields');
  return Object.fromEntries(
    Object.entries(fields)
      .slice(0, MAX_FIELDS)
      .map(([name, value]) => {
        if (typeof value !== 'string' && typeof value !== 'number') throw invalid('fields');
        return [name.slice(0, MAX_FIELD_LENGTH), String(value).slice(0, MAX_FIELD_LENGTH)];
      }),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(what: string): DaemonProtocolError {
  return new DaemonProtocolError(`GET /logs: ${what} is not valid`);
}

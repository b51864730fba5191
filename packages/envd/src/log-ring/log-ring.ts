/** Whose output it is. */
export interface LogSource {
  pid: number;
  stream: 'stdout' | 'stderr';
  tag: string | undefined;
}

/** @wire One line of GET /logs. */
export interface LogEntry {
  seq: number;
  /** RFC 3339. */
  timestamp: string;
  level: 'info' | 'error';
  message: string;
  /** `part`: a line longer than 16 KiB comes in pieces, numbered from 1. */
  fields: { pid: number; stream: 'stdout' | 'stderr'; tag?: string; part?: number };
}

export interface LogPage {
  entries: LogEntry[];
  /** What to pass as `after` next time. */
  next: number;
  /** Lines after `after` that were gone before they could be read; one without an end counts as one. */
  dropped: number;
}

export interface LogRing {
  /** Keeps a piece of output; complete lines become entries. */
  append(source: LogSource, bytes: Uint8Array): void;
  /** Says that a source prints no more: an unfinished line becomes an entry. */
  end(source: LogSource): void;
  /** Entries with a number above `after`, oldest first, at most `limit` and at most 1000. */
  read(after: number, limit: number): LogPage;
}

const MAX_BYTES = 1024 * 1024;
/** Pieces of output not split yet. */
const MAX_CHUNKS = 16_384;
/** Lines split and kept, read ones among them. */
const MAX_ENTRIES = 4096;
const MAX_LINE_BYTES = 16 * 1024;
/** Below `MAX_ENTRIES`, so that a page never pushes itself out. */
const MAX_PAGE = 1000;
/** Small pieces of one millisecond are put together up to here. */
const MERGED_BYTES = 4096;

interface Chunk {
  source: LogSource;
  at: number;
  /** Undefined: the source has ended. */
  bytes: Uint8Array | undefined;
}

/**
 * Keeps the latest output of processes, at most 1 MiB. Output is split into lines only when someone asks, and only as
 * many as are asked for, so that a program that prints much pays almost nothing.
 */
export function createLogRing(now: () => number): LogRing {
  const chunks: Chunk[] = [];
  const entries: LogEntry[] = [];
  const partial = new Map<string, LinePart>();
  let bytes = 0;
  let lastSeq = 0;

  const trim = () => {
    let gone = 0;
    while (entries.length > gone && bytes > MAX_BYTES) bytes -= entries[gone++]!.message.length;
    entries.splice(0, gone);
    gone = 0;
    while (chunks.length > gone && (bytes > MAX_BYTES || chunks.length - gone > MAX_CHUNKS)) {
      const chunk = chunks[gone++]!;
      // Lines that nobody read keep their numbers, so that the reader learns how many it missed.
      lastSeq += countLines(chunk.bytes);
      bytes -= chunk.bytes?.length ?? 0;
      partial.delete(keyOf(chunk.source));
    }
    if (gone > 0) {
      // Numbers have no gap among the lines that are kept.
      for (const entry of entries.splice(0)) bytes -= entry.message.length;
      chunks.splice(0, gone);
    }
  };

  const emit = (source: LogSource, at: number, line: Buffer, part: number | undefined) => {
    const { pid, stream, tag } = source;
    const message = line.toString('utf8').replace(/\r$/, '');
    bytes += message.length;
    entries.push({
      seq: ++lastSeq,
      timestamp: new Date(at).toISOString(),
      level: stream === 'stdout' ? 'info' : 'error',
      message,
      fields: {
        pid,
        stream,
        ...(tag === undefined ? {} : { tag }),
        ...(part === undefined ? {} : { part }),
      },
    });
  };

  /** Splits up to `most` lines off a piece of output. @returns what is left of it */
  const split = ({ source, at, bytes: data }: Chunk, most: number): Chunk | undefined => {
    const key = keyOf(source);
    const begun = partial.get(key);
    partial.delete(key);
    if (!data) {
      if (begun) emit(source, begun.at, begun.bytes, begun.part);
      return undefined;
    }
    let rest = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    let line: LinePart = begun ?? { at, bytes: Buffer.alloc(0), part: undefined };
    let wasBegun = begun !== undefined;
    for (let lines = 0; rest.length > 0 && lines < most; lines += 1) {
      const end = rest.indexOf(10);
      const taken = end === -1 ? rest.length : end;
      const whole =
        line.bytes.length === 0
          ? rest.subarray(0, taken)
          : Buffer.concat([line.bytes, rest.subarray(0, taken)]);
      if (whole.length > MAX_LINE_BYTES) {
        // One piece of a long line; what was not used of this chunk comes next.
        const cut = characterStart(whole, MAX_LINE_BYTES);
        const part = line.part ?? 1;
        emit(source, line.at, whole.subarray(0, cut), part);
        const used = Math.max(0, cut - line.bytes.length);
        const carried = Buffer.from(whole.subarray(cut, Math.max(cut, line.bytes.length)));
        bytes -= used;
        rest = rest.subarray(used);
        line = { at: line.at, bytes: carried, part: part + 1 };
        wasBegun = true;
      } else if (end === -1) {
        bytes -= rest.length;
        partial.set(key, { at: line.at, bytes: Buffer.from(whole), part: line.part });
        return undefined;
      } else {
        emit(source, line.at, whole, line.part);
        bytes -= end + 1;
        rest = rest.subarray(end + 1);
        line = { at, bytes: Buffer.alloc(0), part: undefined };
        wasBegun = false;
      }
    }
    if (wasBegun) partial.set(key, line);
    return rest.length === 0 ? undefined : { source, at, bytes: rest };
  };

  const unread = (after: number) => Math.min(entries.length, lastSeq - after);

  return {
    append(source, data) {
      const at = now();
      const last = chunks.at(-1);
      bytes += data.byteLength;
      if (last !== undefined && mergeable(last, source, at, data)) {
        last.bytes = Buffer.concat([last.bytes!, data]);
        return trim();
      }
      // A copy, because a small piece would keep the large buffer that it was read into.
      chunks.push({ source, at, bytes: Uint8Array.prototype.slice.call(data) });
      trim();
    },
    end(source) {
      chunks.push({ source, at: now(), bytes: undefined });
    },
    read(after, most) {
      const limit = Math.min(most, MAX_PAGE);
      trim();
      let done = 0;
      for (let chunk = chunks[0]; chunk !== undefined && unread(after) < limit; chunk = chunks[done]) {
        const rest = split(chunk, limit);
        if (rest === undefined) done += 1;
        else chunks[done] = rest;
      }
      chunks.splice(0, done);
      // Those that were read go first; what is about to be read is less than what may be kept.
      for (const entry of entries.splice(0, Math.max(0, entries.length - MAX_ENTRIES)))
        bytes -= entry.message.length;
      const first = lastSeq - entries.length + 1;
      const start = Math.max(0, after + 1 - first);
      const page = entries.slice(start, start + limit);
      return {
        entries: page,
        next: page.at(-1)?.seq ?? lastSeq,
        dropped: Math.max(0, first - 1 - after),
      };
    },
  };
}

interface LinePart {
  at: number;
  bytes: Buffer;
  /** Which piece of a long line this begins; undefined for a line of one piece so far. */
  part: number | undefined;
}

function mergeable(last: Chunk, source: LogSource, at: number, data: Uint8Array): boolean {
  return (
    last.at === at &&
    last.bytes !== undefined &&
    last.bytes.length + data.byteLength <= MERGED_BYTES &&
    last.source.pid === source.pid &&
    last.source.stream === source.stream
  );
}

/** Where a character begins, at `at` or up to three bytes before it. */
function characterStart(bytes: Buffer, at: number): number {
  for (let back = 0; back < 4; back += 1) if ((bytes[at - back]! & 0xc0) !== 0x80) return at - back;
  return at;
}

function keyOf(source: LogSource): string {
  return `${source.pid}/${source.stream}`;
}

function countLines(bytes: Uint8Array | undefined): number {
  if (!bytes || bytes.length === 0) return 0;
  let lines = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++;
  return Math.max(1, lines);
}

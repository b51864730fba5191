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
  fields: { pid: number; stream: 'stdout' | 'stderr'; tag?: string };
}

export interface LogPage {
  entries: LogEntry[];
  /** What to pass as `after` next time. */
  next: number;
  /** Lines after `after` that were gone before they could be read. */
  dropped: number;
}

export interface LogRing {
  /** Keeps a piece of output; complete lines become entries. */
  append(source: LogSource, bytes: Uint8Array): void;
  /** Says that a source prints no more: an unfinished line becomes an entry. */
  end(source: LogSource): void;
  /** Entries with a number above `after`, oldest first, at most `limit`. */
  read(after: number, limit: number): LogPage;
}

const MAX_BYTES = 1024 * 1024;
const MAX_ENTRIES = 4096;
const MAX_LINE_BYTES = 16 * 1024;

interface Chunk {
  source: LogSource;
  at: number;
  /** Undefined: the source has ended. */
  bytes: Uint8Array | undefined;
}

/**
 * Keeps the latest output of processes, at most 1 MiB or 4096 lines. Output is split into lines only when someone asks,
 * so that a program that prints much pays almost nothing.
 */
export function createLogRing(now: () => number): LogRing {
  const chunks: Chunk[] = [];
  const entries: LogEntry[] = [];
  const partial = new Map<string, LinePart>();
  let bytes = 0;
  let lastSeq = 0;

  const trim = () => {
    let gone = 0;
    while (entries.length > gone && (bytes > MAX_BYTES || entries.length - gone > MAX_ENTRIES)) {
      bytes -= entries[gone++]!.message.length;
    }
    entries.splice(0, gone);
    gone = 0;
    while (chunks.length > gone && (bytes > MAX_BYTES || chunks.length - gone > MAX_ENTRIES)) {
      const chunk = chunks[gone++]!;
      // Lines that nobody read keep their numbers, so that the reader learns how many it missed.
      lastSeq += countLines(chunk.bytes);
      bytes -= chunk.bytes?.length ?? 0;
      partial.delete(keyOf(chunk.source));
    }
    if (gone > 0) {
      lastSeq += entries.length;
      for (const entry of entries.splice(0)) bytes -= entry.message.length;
      chunks.splice(0, gone);
    }
  };

  const emit = (source: LogSource, at: number, line: Buffer) => {
    const { pid, stream, tag } = source;
    const message = line.subarray(0, MAX_LINE_BYTES).toString('utf8').replace(/\r$/, '');
    bytes += message.length;
    entries.push({
      seq: ++lastSeq,
      timestamp: new Date(at).toISOString(),
      level: stream === 'stdout' ? 'info' : 'error',
      message,
      fields: { pid, stream, ...(tag === undefined ? {} : { tag }) },
    });
  };

  const split = ({ source, at, bytes: data }: Chunk) => {
    const key = keyOf(source);
    const part = partial.get(key);
    if (!data) {
      partial.delete(key);
      if (part) emit(source, part.at, part.bytes);
      return;
    }
    bytes -= data.length;
    let rest = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    let begun = part;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line = rest.subarray(0, end);
      emit(source, begun?.at ?? at, begun ? Buffer.concat([begun.bytes, line]) : line);
      begun = undefined;
      rest = rest.subarray(end + 1);
    }
    if (rest.length === 0 && !begun) partial.delete(key);
    else partial.set(key, joined(begun, rest, at));
  };

  return {
    append(source, data) {
      // A copy, because a small piece would keep the large buffer that it was read into.
      chunks.push({ source, at: now(), bytes: Uint8Array.prototype.slice.call(data) });
      bytes += data.byteLength;
      trim();
    },
    end(source) {
      chunks.push({ source, at: now(), bytes: undefined });
    },
    read(after, limit) {
      for (const chunk of chunks.splice(0)) split(chunk);
      trim();
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
}

function joined(part: LinePart | undefined, rest: Buffer, at: number): LinePart {
  const bytes = part ? Buffer.concat([part.bytes, rest]) : Buffer.from(rest);
  return { at: part?.at ?? at, bytes: bytes.subarray(0, MAX_LINE_BYTES) };
}

function keyOf(source: LogSource): string {
  return `${source.pid}/${source.stream}`;
}

function countLines(bytes: Uint8Array | undefined): number {
  let lines = 0;
  if (bytes) for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++;
  return lines;
}

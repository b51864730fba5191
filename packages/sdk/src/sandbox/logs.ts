import type { ClientCore } from '../core/client-core.js';
import { sleep } from '../core/deadline.js';
import { NotFoundError } from '../core/errors/not-found-errors.js';
import type { RequestOptions } from '../core/pipeline/call-context.js';
import type { LogEntry } from './info.js';
import { getSandbox } from './sandbox-api.js';
import { defined, fromLogEntry } from './wire.js';

/** Which log entries to read. */
export interface LogQuery extends RequestOptions {
  /** `forward` reads from older to newer. Default: the service's, `backward`: the newest first. */
  direction?: 'forward' | 'backward' | undefined;
  /** Where to start reading: forward from this time on, backward from it into the past. */
  from?: Date | undefined;
  /** 0 to 1000. Default: the service's, 1000. */
  limit?: number | undefined;
  /** Least weight. Default: all. */
  level?: LogEntry['level'] | undefined;
  /** Only entries that contain this text, at most 256 characters. */
  search?: string | undefined;
}

/** How to follow a log. */
export interface FollowLogsOptions
  extends Pick<LogQuery, 'level' | 'search' | 'from' | 'signal' | 'requestTimeoutMs'> {
  /** Pause between two looks when nothing is new, ms. Default 1000. */
  pollIntervalMs?: number | undefined;
}

/** The log of one sandbox: call it to read, `follow` it to go on reading. */
export interface SandboxLogs {
  /**
   * Reads entries. Also works for a sandbox that was killed; an unknown one gives an empty list.
   * @wire getSandboxLogsV2
   */
  (query?: LogQuery): Promise<LogEntry[]>;
  /**
   * Gives entries, oldest first, as they come. Ends when the sandbox is gone and everything was read; leave the loop or
   * abort the signal to end it earlier.
   * @wire getSandboxLogsV2, getSandbox
   */
  follow(options?: FollowLogsOptions): AsyncGenerator<LogEntry, void, undefined>;
}

/** Most entries in one answer. */
const pageSize = 1000;
/** Looks without anything new after which the sandbox is asked for. */
const quietLooks = 3;

export function sandboxLogs(core: ClientCore, sandboxId: string): SandboxLogs {
  const read = (query: LogQuery = {}): Promise<LogEntry[]> => readLogs(core, sandboxId, query);
  return Object.assign(read, {
    follow: (options: FollowLogsOptions = {}) => followLogs(core, sandboxId, read, options),
  });
}

async function readLogs(core: ClientCore, sandboxID: string, options: LogQuery): Promise<LogEntry[]> {
  const { from, limit, direction, level, search } = options;
  const query = defined({ cursor: from?.getTime(), limit, direction, level, search });
  const context = { operation: 'sandbox.logs', resource: 'sandbox', options } as const;
  const { data } = await core.platform.call(context, (platform, fetch) =>
    platform.GET('/v2/sandboxes/{sandboxID}/logs', { params: { path: { sandboxID }, query }, fetch }),
  );
  return data.logs.map(fromLogEntry);
}

async function* followLogs(
  core: ClientCore,
  sandboxId: string,
  read: (query: LogQuery) => Promise<LogEntry[]>,
  options: FollowLogsOptions,
): AsyncGenerator<LogEntry, void, undefined> {
  const { pollIntervalMs = 1000, signal, requestTimeoutMs } = options;
  let from = options.from;
  // The cursor is exact to the millisecond and inclusive: entries of its millisecond come again and are left out here.
  let seenAtCursor = 0;
  let quiet = 0;
  let last = false;
  for (;;) {
    const page = await read({ ...options, from, direction: 'forward', limit: pageSize });
    const fresh = page.slice(seenAtCursor);
    yield* fresh;
    const newest = page.at(-1)?.timestamp;
    if (newest !== undefined) {
      seenAtCursor = page.filter(({ timestamp }) => timestamp.getTime() === newest.getTime()).length;
      from = newest;
      if (seenAtCursor === pageSize) {
        // A whole page within one millisecond: the cursor cannot point behind it any other way.
        from = new Date(newest.getTime() + 1);
        seenAtCursor = 0;
      }
    }
    if (page.length === pageSize) continue;
    if (last) return;
    quiet = fresh.length === 0 ? quiet + 1 : 0;
    if (quiet >= quietLooks) {
      quiet = 0;
      last = await isGone(core, sandboxId, { signal, requestTimeoutMs });
      if (last) continue;
    }
    await sleep(pollIntervalMs, signal);
  }
}

async function isGone(core: ClientCore, sandboxId: string, options: RequestOptions): Promise<boolean> {
  try {
    await getSandbox(core, sandboxId, options, 'sandbox.logs');
    return false;
  } catch (error) {
    if (NotFoundError.is(error)) return true;
    throw error;
  }
}

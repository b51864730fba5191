import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { sleep } from '../core/deadline.js';
import { defined } from '../core/wire-values.js';
import { unlessMissing } from '../errors/unless-missing.js';
import type { LogEntry } from './info.js';
import type { FollowLogsOptions, LogQuery } from './log-query.js';
import { getSandbox } from './sandbox-api.js';
import { fromLogEntry } from './wire.js';

/** Most entries in one answer. */
const pageSize = 1000;
/** Requests without anything new after which the sandbox is looked up. */
const quietLooks = 3;
/** Reads entries that are there. */
export async function readLogs(core: ClientCore, sandboxId: string, query: LogQuery): Promise<LogEntry[]> {
  return (await readPage(core, sandboxId, query)).entries;
}

interface LogPage {
  entries: LogEntry[];
  /** The place of the last entry, for the next read. */
  nextToken: string | undefined;
}

async function readPage(
  core: ClientCore,
  sandboxID: string,
  options: LogQuery & { nextToken?: string | undefined },
): Promise<LogPage> {
  const { from, limit, direction, level, search, nextToken } = options;
  const query = defined({ cursor: from?.getTime(), nextToken, limit, direction, level, search });
  const context = { operation: 'sandbox.logs', resource: 'sandbox', options } as const;
  const { data, response } = await core.platform.answer(context, (platform, fetch) =>
    platform.GET('/v2/sandboxes/{sandboxID}/logs', { params: { path: { sandboxID }, query }, fetch }),
  );
  return {
    entries: data.logs.map(fromLogEntry),
    nextToken: response.headers.get('X-Next-Token') ?? undefined,
  };
}

/** Gives entries as they come. */
export async function* followLogs(
  core: ClientCore,
  sandboxId: string,
  options: FollowLogsOptions,
): AsyncGenerator<LogEntry, void, undefined> {
  const { pollIntervalMs = 1000, tail, signal, requestTimeoutMs } = options;
  let place: Place = { from: options.from, nextToken: undefined, seen: 0 };
  if (tail !== undefined) {
    const begin = await readTail(core, sandboxId, options, tail);
    yield* begin.entries;
    place = begin.place;
  }
  let quiet = 0;
  let last = false;
  for (;;) {
    const { from, nextToken, seen } = place;
    const page = await readPage(core, sandboxId, {
      ...options,
      from,
      nextToken,
      direction: 'forward',
      limit: pageSize,
    });
    const fresh = page.entries.slice(seen);
    yield* fresh;
    place = behind(place, page);
    if (page.entries.length === pageSize) continue;
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

/** Where to read on. */
interface Place {
  from: Date | undefined;
  nextToken: string | undefined;
  /** Entries at the beginning of the next page that were given already: a time alone is not exact. */
  seen: number;
}

/** The place behind a page read forward. A service that gives no token is followed by time, to the millisecond. */
function behind(place: Place, { entries, nextToken }: LogPage): Place {
  if (nextToken !== undefined) return { from: undefined, nextToken, seen: 0 };
  const newest = entries.at(-1)?.timestamp;
  if (newest === undefined) return place;
  const seen = entries.filter(({ timestamp }) => timestamp.getTime() === newest.getTime()).length;
  // A whole page within one millisecond: time cannot point behind it any other way.
  if (seen === pageSize) return { from: new Date(newest.getTime() + 1), nextToken: undefined, seen: 0 };
  return { from: newest, nextToken: undefined, seen };
}

/** The last entries, oldest first, and the place behind the newest. */
async function readTail(
  core: ClientCore,
  sandboxId: string,
  { from, ...filter }: FollowLogsOptions,
  tail: number,
): Promise<{ entries: LogEntry[]; place: Place }> {
  const backward = (limit: number, nextToken?: string) =>
    readPage(core, sandboxId, { ...filter, direction: 'backward', limit, nextToken });
  // The place of the newest entry comes with a page that ends at it.
  const newest = await backward(1);
  const { nextToken } = newest;
  let entries = tail === 0 ? [] : newest.entries;
  if (tail > 1 && nextToken !== undefined)
    entries = [...entries, ...(await backward(tail - 1, nextToken)).entries];
  else if (tail > 1) entries = (await backward(tail)).entries;
  entries = [...entries].reverse();
  const place =
    newest.entries.length === 0
      ? // Nothing was there: any line found from the beginning on came later, by the service's clock too.
        { from, nextToken: undefined, seen: 0 }
      : behind({ from, nextToken, seen: 0 }, { entries: newest.entries, nextToken });
  return {
    entries: from === undefined ? entries : entries.filter(({ timestamp }) => timestamp >= from),
    place: nextToken === undefined ? behind(place, { entries, nextToken }) : place,
  };
}

async function isGone(core: ClientCore, sandboxId: string, options: RequestOptions): Promise<boolean> {
  return (await unlessMissing(getSandbox(core, sandboxId, options, 'sandbox.logs'))) === undefined;
}

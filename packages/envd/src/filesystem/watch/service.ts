import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import {
  EventType,
  type FilesystemEvent,
  FilesystemEventSchema,
  type WatchDirRequest,
  type WatchDirResponseSchema,
} from '@svc/daemon/gen';
import { type EntryReader, readEntryInfo } from '../entry-info.js';
import { statThroughLinks } from '../links.js';
import { errnoText, rpcError } from '../rpc-errors.js';
import { EventBuffer } from './event-buffer.js';
import { keepaliveIntervalMs } from './keepalive.js';
import { isOnNetworkMount } from './network-mounts.js';
import { type Change, TreeWatch } from './tree-watch.js';

/** Events that one watcher holds for a caller who does not take them. */
export const MAX_BUFFERED_EVENTS = 10_000;

export interface WatchServiceOptions {
  /** The absolute path that a request means, by the user of the call. */
  resolve(path: string, handler: HandlerContext): Promise<string>;
  openReader(): Promise<EntryReader>;
}

type WatchRequest = Pick<WatchDirRequest, 'path' | 'recursive' | 'includeEntry' | 'allowNetworkMounts'>;

interface Watcher {
  buffer: EventBuffer<Promise<FilesystemEvent>>;
  close(): void;
}

/** The four watching RPCs. */
export function createWatchService(options: WatchServiceOptions) {
  const watchers = new Map<string, Watcher>();

  async function open(request: WatchRequest, handler: HandlerContext): Promise<Watcher> {
    try {
      const path = await options.resolve(request.path, handler);
      if (!(await statThroughLinks(path)).isDirectory()) {
        throw new ConnectError(`${path}: not a directory`, Code.InvalidArgument);
      }
      const real = await realpath(path);
      if (!request.allowNetworkMounts && (await isOnNetworkMount(real))) {
        throw new ConnectError(
          `${path} is on a network mount, which does not report changes made elsewhere; set allowNetworkMounts to watch it`,
          Code.InvalidArgument,
        );
      }
      return await startWatcher({ path, real }, request, await options.openReader());
    } catch (error) {
      throw rpcError(error, 'watch', request.path);
    }
  }

  function lookup(watcherId: string): Watcher {
    const watcher = watchers.get(watcherId);
    if (!watcher) throw new ConnectError(`watcher ${JSON.stringify(watcherId)} not found`, Code.NotFound);
    return watcher;
  }

  return {
    async *watchDir(
      request: WatchRequest,
      handler: HandlerContext,
    ): AsyncGenerator<MessageInitShape<typeof WatchDirResponseSchema>> {
      const watcher = await open(request, handler);
      // Not only in `finally`: while the caller does not read, this generator stands still at a yield.
      const leave = (): void => {
        watcher.close();
        watcher.buffer.fail(handler.signal.reason ?? new Error('the caller left'));
      };
      handler.signal.addEventListener('abort', leave, { once: true });
      try {
        handler.signal.throwIfAborted();
        yield { event: { case: 'start', value: {} } };
        const intervalMs = keepaliveIntervalMs(handler.requestHeader.get('keepalive-ping-interval'));
        while (true) {
          if (!(await watcher.buffer.wait(intervalMs))) yield { event: { case: 'keepalive', value: {} } };
          for (const event of watcher.buffer.drain())
            yield { event: { case: 'filesystem', value: await event } };
        }
      } finally {
        handler.signal.removeEventListener('abort', leave);
        watcher.close();
      }
    },

    async createWatcher(request: WatchRequest, handler: HandlerContext): Promise<{ watcherId: string }> {
      const watcher = await open(request, handler);
      const watcherId = `w${randomBytes(10).toString('hex')}`;
      watchers.set(watcherId, watcher);
      return { watcherId };
    },

    async getWatcherEvents({ watcherId }: { watcherId: string }): Promise<{ events: FilesystemEvent[] }> {
      return { events: await Promise.all(lookup(watcherId).buffer.drain()) };
    },

    async removeWatcher({ watcherId }: { watcherId: string }): Promise<Record<string, never>> {
      lookup(watcherId).close();
      watchers.delete(watcherId);
      return {};
    },
  };
}

async function startWatcher(
  { path, real }: { path: string; real: string },
  request: WatchRequest,
  reader: EntryReader,
): Promise<Watcher> {
  const buffer = new EventBuffer<Promise<FilesystemEvent>>(MAX_BUFFERED_EVENTS);
  const tree = new TreeWatch({
    path,
    real,
    recursive: request.recursive,
    onChange(change) {
      if (buffer.push(toEvent(change, request.includeEntry ? reader : undefined))) return;
      tree.close();
      buffer.fail(
        new ConnectError(
          `watcher of ${path} stopped: ${MAX_BUFFERED_EVENTS} events were not taken`,
          Code.Internal,
        ),
      );
    },
    onFailure(error) {
      buffer.fail(new ConnectError(`watcher of ${path} failed: ${errnoText(error)}`, Code.Internal));
    },
  });
  await tree.start();
  return { buffer, close: () => tree.close() };
}

const WITH_ENTRY = new Set([EventType.CREATE, EventType.WRITE, EventType.CHMOD]);

/** The entry is read at once, so that it is as near to the change as can be; never rejects. */
async function toEvent(change: Change, reader: EntryReader | undefined): Promise<FilesystemEvent> {
  const event = create(FilesystemEventSchema, { name: change.name, type: change.type });
  if (reader && WITH_ENTRY.has(change.type)) {
    const entry = await readEntryInfo(change.path, reader).catch(() => undefined);
    if (entry) event.entry = entry;
  }
  return event;
}

import { lstat, rename, rm } from 'node:fs/promises';
import { posix } from 'node:path';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { Filesystem } from '@svc/daemon/gen';
import type { EnvdContext, OsUser } from '../context.js';
import { requestUser } from '../http/request-user.js';
import { resolvePath } from '../paths/index.js';
import { type EntryReader, readEntryInfo } from './entry-info.js';
import { statThroughLinks } from './links.js';
import { listDirectory } from './list-directory.js';
import { makeDirectories, type Owner } from './make-directories.js';
import { openMetadata } from './metadata.js';
import { errnoName, type Operation, rpcError } from './rpc-errors.js';
import { createWatchService } from './watch/index.js';

/** Serves filesystem.Filesystem. Everything runs with the daemon's rights; the user decides home and owner. */
export function registerFilesystem(router: ConnectRouter, context: EnvdContext): void {
  const scope = (handler: HandlerContext) => openScope(context, handler);
  const watch = createWatchService({
    resolve: async (path, handler) => (await scope(handler)).resolve(path),
    openReader: () => openReader(context),
  });

  router.service(Filesystem, {
    stat: ({ path }, handler) =>
      guarded('stat', path, async () => {
        const { resolve, reader } = await scope(handler);
        return { entry: await readEntryInfo(resolve(path), reader) };
      }),

    makeDir: ({ path }, handler) =>
      guarded('makeDir', path, async () => {
        const { resolve, reader, owner } = await scope(handler);
        const target = resolve(path);
        await refuseExisting(target);
        await makeDirectories(target, owner);
        return { entry: await readEntryInfo(target, reader) };
      }),

    move: ({ source, destination }, handler) =>
      guarded('move', source, async () => {
        const { resolve, reader, owner } = await scope(handler);
        const from = resolve(source);
        const to = resolve(destination);
        await requireSource(from);
        await makeDirectories(posix.dirname(to), owner);
        await rename(from, to);
        return { entry: await readEntryInfo(to, reader) };
      }),

    listDir: ({ path, depth }, handler) =>
      guarded('listDir', path, async () => {
        const { resolve, reader } = await scope(handler);
        return {
          entries: await listDirectory({
            path: resolve(path),
            depth: depth || 1,
            reader,
            signal: handler.signal,
          }),
        };
      }),

    remove: ({ path }, handler) =>
      guarded('remove', path, async () => {
        const { resolve } = await scope(handler);
        await removeEntry(resolve(path));
        return {};
      }),

    watchDir: (request, handler) => watch.watchDir(request, handler),
    createWatcher: (request, handler) => watch.createWatcher(request, handler),
    getWatcherEvents: (request) => watch.getWatcherEvents(request),
    removeWatcher: (request) => watch.removeWatcher(request),
  });
}

interface Scope {
  resolve(path: string): string;
  reader: EntryReader;
  owner: Owner;
}

async function openScope(context: EnvdContext, handler: HandlerContext): Promise<Scope> {
  const user = await requestUser(context, handler.requestHeader.get('authorization'));
  return {
    resolve: (path) => resolvePath(path, { home: user.home, workdir: context.defaults.workdir }),
    reader: await openReader(context),
    owner: ownerOf(context, user),
  };
}

/** Whom new files belong to: nobody in particular where the daemon has one user only. */
export function ownerOf(context: EnvdContext, user: OsUser): Owner {
  return context.singleUser ? undefined : { uid: user.uid, gid: user.gid };
}

async function openReader(context: EnvdContext): Promise<EntryReader> {
  const [names, metadata] = await Promise.all([context.users.names(), openMetadata()]);
  return { names, readMetadata: metadata.read };
}

async function guarded<T>(operation: Operation, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw rpcError(error, operation, path);
  }
}

async function refuseExisting(path: string): Promise<void> {
  let directory: boolean;
  try {
    directory = (await statThroughLinks(path)).isDirectory();
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return;
    throw error;
  }
  if (directory) throw new ConnectError(`${path}: directory already exists`, Code.AlreadyExists);
  throw new ConnectError(`${path}: exists and is not a directory`, Code.InvalidArgument);
}

/** Distinguishes a missing source from other reasons why a rename fails. */
async function requireSource(path: string): Promise<void> {
  try {
    await lstat(path);
  } catch (error) {
    if (errnoName(error) !== 'ENOTDIR') throw error;
    throw new ConnectError(`${path}: no such file or directory`, Code.NotFound);
  }
}

async function removeEntry(path: string): Promise<void> {
  // With a slash at its end a link would be followed, and the target's content would go.
  const entry = path.length > 1 ? path.replace(/\/+$/, '') || '/' : path;
  try {
    await rm(entry, { recursive: true, force: true });
  } catch (error) {
    // A path below a file is as missing as any other.
    if (errnoName(error) !== 'ENOTDIR' || (await isThere(entry))) throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

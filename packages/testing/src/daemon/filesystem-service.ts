import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { EventType, type Filesystem, FileType } from '@svc/daemon';
import { type FileChange, FileFailure, type FileTree, permissionsOf } from '../files/file-tree.js';
import { InvalidPathError, nameOf } from '../files/paths.js';
import { keepaliveMs, scopeOf, timestampOf, waitOr } from './scope.js';
import { userOf } from './users.js';

type Operation = 'stat' | 'makeDir' | 'move' | 'listDir' | 'remove' | 'watch';

/** Which failure of the file system becomes which code, by RPC. What a row does not name is `internal`. */
const codes: Record<Operation, Partial<Record<FileFailure['code'], Code>>> = {
  stat: { ENOENT: Code.NotFound, ENOTDIR: Code.NotFound },
  makeDir: { EEXIST: Code.InvalidArgument, ENOTDIR: Code.InvalidArgument },
  move: { ENOENT: Code.NotFound },
  listDir: { ENOENT: Code.NotFound, ENOTDIR: Code.InvalidArgument },
  remove: {},
  watch: { ENOENT: Code.NotFound, ENOTDIR: Code.InvalidArgument },
};

/** `filesystem.Filesystem` over the files in memory. */
export const filesystemService: ServiceImpl<typeof Filesystem> = {
  stat: ({ path }, context) =>
    guarded('stat', path, context, ({ files, resolve }) => {
      const target = resolve(path);
      return { entry: entryAt(files, target) };
    }),

  makeDir: ({ path }, context) =>
    guarded('makeDir', path, context, ({ files, resolve, user }) => {
      const target = resolve(path);
      if (files.find(target)?.kind === 'directory')
        throw new ConnectError(`${target}: directory already exists`, Code.AlreadyExists);
      files.makeDirectory(target, user);
      return { entry: entryAt(files, target) };
    }),

  move: ({ source, destination }, context) =>
    guarded('move', source, context, ({ files, resolve, user }) => {
      const to = resolve(destination);
      files.move(resolve(source), to, user);
      return { entry: entryAt(files, to) };
    }),

  listDir: ({ path, depth }, context) =>
    guarded('listDir', path, context, ({ files, resolve }) => ({
      entries: files.list(resolve(path), depth || 1).map((each) => entryAt(files, each)),
    })),

  remove: ({ path }, context) =>
    guarded('remove', path, context, ({ files, resolve }) => {
      files.removeAll(resolve(path));
      return {};
    }),

  async *watchDir(request, context) {
    const scope = scopeOf(context);
    const watcher = guarded('watch', request.path, context, (files) => openWatcher(files, request));
    try {
      yield { event: { case: 'start', value: {} } };
      for (;;) {
        for (const value of watcher.take()) yield { event: { case: 'filesystem', value } };
        scope.signal.throwIfAborted();
        if (!(await waitOr(scope, watcher.changed(), keepaliveMs(context.requestHeader))))
          yield { event: { case: 'keepalive', value: {} } };
      }
    } finally {
      watcher.close();
    }
  },

  createWatcher(request, context) {
    const watcher = guarded('watch', request.path, context, (files) => openWatcher(files, request));
    const { watchers } = scopeOf(context).sandbox;
    const watcherId = `w${String(watchers.size + 1).padStart(20, '0')}`;
    watchers.set(watcherId, watcher);
    return { watcherId };
  },

  getWatcherEvents: ({ watcherId }, context) => ({ events: watcherOf(context, watcherId).take() }),

  removeWatcher({ watcherId }, context) {
    watcherOf(context, watcherId).close();
    scopeOf(context).sandbox.watchers.delete(watcherId);
    return {};
  },
};

interface Place {
  files: FileTree;
  resolve(path: string): string;
  user: string | undefined;
}

function guarded<T>(
  operation: Operation,
  path: string,
  context: HandlerContext,
  run: (place: Place) => T,
): T {
  const { files } = scopeOf(context).sandbox;
  const user = userOf(context.requestHeader);
  const home = user === 'root' ? '/root' : files.home;
  try {
    return run({ files, resolve: (each) => files.resolve(each, home), user });
  } catch (error) {
    if (error instanceof InvalidPathError) throw new ConnectError(error.message, Code.InvalidArgument);
    if (!(error instanceof FileFailure)) throw error;
    const said = error.message.slice(error.path.length);
    throw new ConnectError(`${path}${said}`, codes[operation][error.code] ?? Code.Internal);
  }
}

/** @throws FileFailure */
function entryAt(files: FileTree, path: string) {
  const node = files.find(path) ?? files.open(path);
  return {
    name: nameOf(path),
    path,
    type: node.kind === 'file' ? FileType.FILE : FileType.DIRECTORY,
    size: BigInt(node.bytes.byteLength),
    mode: node.mode,
    permissions: permissionsOf(node),
    owner: node.owner,
    group: node.owner,
    modifiedTime: timestampOf(node.modifiedMs),
    metadata: { ...node.metadata },
  };
}

function watcherOf(context: HandlerContext, watcherId: string) {
  const watcher = scopeOf(context).sandbox.watchers.get(watcherId) as
    | ReturnType<typeof openWatcher>
    | undefined;
  if (!watcher) throw new ConnectError(`watcher ${JSON.stringify(watcherId)} not found`, Code.NotFound);
  return watcher;
}

const kinds: Record<FileChange['kind'], EventType> = {
  create: EventType.CREATE,
  write: EventType.WRITE,
  remove: EventType.REMOVE,
  rename: EventType.RENAME,
};

function openWatcher(
  { files, resolve }: Place,
  request: { path: string; recursive: boolean; includeEntry: boolean },
) {
  const root = resolve(request.path);
  if (files.find(root)?.kind === 'file') throw new FileFailure('ENOTDIR', root);
  if (!files.find(root)) files.open(root);
  const prefix = root === '/' ? '/' : `${root}/`;
  const taken: { name: string; type: EventType; entry?: ReturnType<typeof entryAt> }[] = [];
  let wake: (() => void) | undefined;
  const close = files.onChange(({ path, kind }) => {
    const name = path.slice(prefix.length);
    if (!path.startsWith(prefix) || (!request.recursive && name.includes('/'))) return;
    const withEntry = request.includeEntry && (kind === 'create' || kind === 'write') && files.find(path);
    taken.push({ name, type: kinds[kind], ...(withEntry ? { entry: entryAt(files, path) } : {}) });
    wake?.();
  });
  return {
    close,
    take: () => taken.splice(0),
    changed: () =>
      new Promise<void>((resolve) => {
        if (taken.length > 0) resolve();
        else wake = resolve;
      }),
  };
}

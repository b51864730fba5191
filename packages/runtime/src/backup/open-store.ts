import { readdirSync, readFileSync } from 'node:fs';
import { DriverError } from '../contract/errors.js';
import { NamespaceKeeper } from '../linux-driver/namespace/namespace-keeper.js';
import { formatCall, parseAnswers, type ScriptCall } from '../linux-driver/namespace/script-call.js';
import { type Paths, pathsOf } from '../linux-driver/state/paths.js';
import { Store } from '../linux-driver/store/store.js';
import { assetPath } from '../shared/assets.js';
import { type DataDirLock, lockDataDir } from '../shared/data-dir-lock.js';
import { runProgram } from '../shared/run-program.js';
import { SCRIPT_ENVIRONMENT } from '../shared/script-environment.js';

/** The store of a driver's data directory, used by a process that is not the driver. */
export interface OpenedStore {
  readonly kind: 'btrfs' | 'plain';
  readonly paths: Paths;
  readonly keeper: NamespaceKeeper;
  /** Calls a function of the scripts in the directory of the store. @throws {DriverError} */
  run(call: ScriptCall, timeoutMs: number): Promise<Record<string, string>>;
  /** Leaves the store as it was found: mounted where a driver or sandboxes have it, else not. */
  close(): Promise<void>;
}

/** Returns true if a driver, or sandboxes after it, have the store of a data directory mounted. */
export function driverIsUp(dataDir: string): boolean {
  return NamespaceKeeper.find(pathsOf(dataDir)) !== undefined;
}

/**
 * Opens the store of a data directory beside a driver that may be running. Where none is, no driver can start until it is
 * closed. The driver's own shell and its copies of the scripts are left alone: they may be another version's.
 * @param below the directory of the bases
 * @throws {DriverError} `busy` while a driver is starting
 */
export async function openStoreOf(dataDir: string, below: string): Promise<OpenedStore> {
  const paths = pathsOf(dataDir);
  const lock = await lockDataDir(dataDir).catch((error: unknown) => {
    if (DriverError.is(error) && error.code === 'busy') return undefined;
    throw error;
  });
  try {
    const found = NamespaceKeeper.find(paths);
    if (found !== undefined) return await usingKeeper(found, paths, lock);
    if (lock === undefined)
      throw new DriverError('busy', 'The server is starting or stopping: try again when it is done.');
    return await mountingStore(paths, lock, { below });
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

async function usingKeeper(
  keeper: NamespaceKeeper,
  paths: Paths,
  lock: DataDirLock | undefined,
): Promise<OpenedStore> {
  const { STORE_KIND: kind } = await runFunction(keeper, KIND, { name: 'answer_kind' }, paths.store, 30_000);
  return {
    kind: kind === 'btrfs' ? 'btrfs' : 'plain',
    paths,
    keeper,
    run: (call, timeoutMs) => runInStore(keeper, paths, kind, call, timeoutMs),
    close: async () => lock?.release(),
  };
}

/** Reads the kind of store that the driver decided on when it made the store. */
const KIND = `answer_kind() {
  if [ -e "$STORE/.plain" ] || [ "$(stat -f -c %T "$STORE")" != btrfs ]; then answer STORE_KIND plain
  else answer STORE_KIND btrfs
  fi
}`;

/**
 * Mounts it, making it first where there is none, in a namespace that ends with it.
 * @param options.below the directory of the bases
 */
export async function mountingStore(
  paths: Paths,
  lock: DataDirLock,
  { below, sizeMiB }: { below: string; sizeMiB?: number | undefined },
): Promise<OpenedStore> {
  const keeper = await NamespaceKeeper.start(paths);
  const store = new Store(paths, sizeMiB);
  const close = async () => {
    await store.unmount(keeper);
    await keeper.release();
    keeper.stop(paths);
  };
  try {
    await store.mount(keeper, ['/usr', below]);
  } catch (error) {
    await keeper.release();
    keeper.stop(paths);
    throw error;
  }
  return {
    kind: store.kind,
    paths,
    keeper,
    run: (call, timeoutMs) => runInStore(keeper, paths, store.kind, call, timeoutMs),
    async close() {
      await close();
      await lock.release();
    },
  };
}

function runInStore(
  keeper: NamespaceKeeper,
  paths: Paths,
  kind: string | undefined,
  { name, variables, arguments: words = [] }: ScriptCall,
  timeoutMs: number,
): Promise<Record<string, string>> {
  const own = { STORE: paths.store, STORE_KIND: kind };
  const call = { name: 'in_store', variables: { ...own, ...variables }, arguments: [name, ...words] };
  return runFunction(keeper, '', call, paths.store, timeoutMs);
}

async function runFunction(
  keeper: NamespaceKeeper,
  more: string,
  call: ScriptCall,
  store: string,
  timeoutMs: number,
): Promise<Record<string, string>> {
  const functions = readdirSync(assetPath('functions')).map((name) =>
    readFileSync(assetPath(`functions/${name}`), 'utf8'),
  );
  const variables = { STORE: store, ...call.variables };
  const script = `umask 022\n${functions.join('\n')}\n${more}\n${formatCall({ ...call, variables })}`;
  const [file, ...args] = keeper.enter(['sh', '-c', script]);
  const { exitCode, stdout, stderr } = await runProgram(file!, args, { timeoutMs, env: SCRIPT_ENVIRONMENT });
  if (exitCode === 0) return parseAnswers(stdout);
  throw new DriverError('create_failed', 'The store of the sandboxes cannot be read or written.', {
    detail: stderr.trim().slice(-4_000),
  });
}

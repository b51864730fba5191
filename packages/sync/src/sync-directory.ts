import { FileNotFoundError, InvalidRequestError } from '@svc/sdk';
import { foldsCase } from '@svc/sdk/local-trees';
import { type DirectorySync, startSync } from './directory-sync.js';
import { EventQueue } from './event-queue.js';
import { hasCode, LocalRoot } from './local/local-root.js';
import type { SyncOptions } from './options.js';
import { readRules } from './read-rules.js';
import type { SyncSandbox } from './remote/remote-shell.js';
import { resolveSettings } from './settings.js';
import { blankMemory, readState } from './state-file.js';

/**
 * Keeps a directory of this machine and one of a sandbox equal, until it is stopped. Settles when they are equal for the
 * first time. Files, directories, links that stay inside and the right to execute are carried over; times of new
 * content too. For any sandbox, nothing outside the local directory is written or deleted. Node only.
 * @throws InvalidRequestError, FileNotFoundError with `pull`, SyncStoppedError, SandboxGoneError
 * @example
 * await using sync = await syncDirectory(sandbox, { local: './app', remote: 'app', ignore: ['node_modules'] });
 * await sandbox.commands.run('cd app && npm test');
 * await sync.flush();
 */
export async function syncDirectory(sandbox: SyncSandbox, options: SyncOptions): Promise<DirectorySync> {
  const settings = resolveSettings(options);
  const { user, signal, watch = true, stateFile } = options;
  signal?.throwIfAborted();
  const path = await remotePath(sandbox, options.remote, { user, signal });
  const root = await LocalRoot.open(settings.local).catch((error) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (!hasCode(error, 'ENOTDIR')) throw error;
    throw new InvalidRequestError(`sync: ${settings.local} of this machine is no directory.`, {
      operation: 'sync',
    });
  });
  try {
    const exclusions = await readRules(root, options);
    const subject = { sandboxId: sandbox.sandboxId, remote: path, local: settings.local };
    const memory = stateFile === undefined ? blankMemory() : await readState(stateFile, subject);
    return await startSync({
      context: {
        settings,
        exclusions,
        memory,
        remote: { sandbox, path, user },
        foldsCase: process.platform !== 'linux' && root !== undefined && (await foldsCase(root.path)),
      },
      events: new EventQueue(options.onEvent),
      watch,
      state: stateFile === undefined ? undefined : { file: stateFile, subject },
      signal,
    });
  } finally {
    await root?.close();
  }
}

/** Returns the absolute path of the sandbox's side. */
async function remotePath(
  sandbox: SyncSandbox,
  path: string,
  call: { user: string | undefined; signal: AbortSignal | undefined },
): Promise<string> {
  const found = await sandbox.files.stat(path, call).catch((error) => {
    if (!FileNotFoundError.is(error)) throw error;
  });
  if (found !== undefined && found.type !== 'directory')
    throw new InvalidRequestError(`sync: ${found.path} of the sandbox is no directory.`, {
      operation: 'sync',
    });
  if (found !== undefined) return found.path;
  if (path.startsWith('/')) return path;
  const home = await sandbox.files.stat('~', call);
  return `${home.path}/${path.replace(/^~\//, '')}`;
}

import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type SyncEvent, type SyncMode, syncDirectory } from '@svc/sync';
import type { Cli } from '../../cli/cli.js';
import { stateDirectory } from '../../connection/directories.js';
import { startProgress, transferText } from '../../output/progress.js';
import { keepAlive } from '../sandbox/keep-alive.js';
import { describeSyncEvent, recordOf } from './describe-event.js';
import type { SyncFlags } from './flags.js';

interface Pair {
  sandboxId: string;
  local: string;
  remote: string;
  mode: SyncMode;
}

/** Keeps two directories equal until they are interrupted, or for once. */
export async function runSync(cli: Cli, pair: Pair, flags: SyncFlags): Promise<void> {
  const { out, signal } = cli;
  const sandbox = await cli.sandbox(pair.sandboxId);
  const progress = startProgress(out, `Comparing ${pair.local} with ${pair.remote}`);
  let isFirst = true;
  const onEvent = (event: SyncEvent): void => {
    if (event.type === 'progress') {
      if (isFirst)
        progress.update(
          transferText(event.side === 'remote' ? 'sent' : 'received', event.bytes, event.totalBytes),
        );
      return;
    }
    if (event.type === 'synced' && isFirst) {
      isFirst = false;
      progress.done();
    }
    if (event.type === 'stopped') return;
    out.record(recordOf(event), () => describeSyncEvent(event, out.style));
  };
  const stopKeeping = flags.once ? () => {} : keepAlive(sandbox);
  try {
    const sync = await syncDirectory(sandbox, {
      local: pair.local,
      remote: pair.remote,
      mode: pair.mode,
      prefer: flags.prefer,
      deleteExtra: flags.delete,
      ignore: flags.exclude,
      gitignore: flags.gitignore,
      vcs: flags.vcs,
      allowEmpty: flags.allowEmpty,
      maxFileSizeBytes: flags.maxFileSize === undefined ? undefined : flags.maxFileSize * 1024 * 1024,
      watch: !flags.once,
      stateFile: flags.state ? stateFileOf(cli, pair) : undefined,
      user: flags.user,
      signal,
      onEvent,
    });
    if (flags.once) return;
    out.note('Both sides are followed. Ctrl+C ends.');
    await sync.ended;
  } catch (error) {
    // Ctrl+C is how it is ended; in the middle of the first comparison it is told by the exit code.
    if (!signal.aborted || isFirst) throw error;
  } finally {
    stopKeeping();
    progress.done();
  }
}

/** Where the last common state of a pair is kept: apart from both directories, so that neither side can change it. */
function stateFileOf(cli: Cli, { sandboxId, local, remote }: Pair): string {
  const key = JSON.stringify([sandboxId, resolve(local), remote]);
  const name = createHash('sha256').update(key).digest('hex').slice(0, 32);
  return join(stateDirectory(cli.env), 'sync', `${name}.json`);
}

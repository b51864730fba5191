import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { SyncEvent, SyncMode } from '@svc/sync';
import { type Command, Option } from 'commander';
import type { Cli } from '../cli/cli.js';
import { act } from '../cli/leaf.js';
import { stateDirectory } from '../connection/directories.js';
import { UsageError } from '../errors/cli-error.js';
import { formatBytes } from '../output/format.js';
import { startProgress, transferText } from '../output/progress.js';
import type { Style } from '../output/style.js';
import { printable } from '../output/table.js';
import { wholeNumber } from '../parse/number.js';
import { parseCopy } from '../parse/remote-path.js';
import { keepAlive } from './sandbox/lifecycle.js';

export function addSyncCommand(sync: Command): void {
  sync
    .argument('<local>', 'directory of this machine')
    .argument('<remote>', 'ID:path of a directory of a sandbox')
    .option('--once', 'end once both sides are equal')
    .option('--push', 'one way: the sandbox follows this machine')
    .option('--pull', 'one way: this machine follows the sandbox')
    .option('--delete', 'with --push or --pull: also delete what the source never had')
    .addOption(
      new Option('--prefer <side>', 'keep this version alone where both changed').choices([
        'local',
        'remote',
        'newer',
      ]),
    )
    .option(
      '-x, --exclude <pattern>',
      'leave out, as in .gitignore; repeatable',
      (text: string, soFar: string[] = []) => [...soFar, text],
    )
    .option('--gitignore', 'leave out what .gitignore files leave out')
    .option('--vcs', 'take .git along; a sandbox that writes it can make git run programs here')
    .option(
      '--max-file-size <MiB>',
      'leave out larger files (default: 4096)',
      wholeNumber('--max-file-size', 1, 1_048_576),
    )
    .option('--allow-empty', 'delete everything on one side when the other side is empty')
    .option('--no-state', 'remember nothing of earlier runs')
    .option('-u, --user <name>', 'user in the sandbox')
    .addHelpText(
      'after',
      `
Keeps both directories equal until Ctrl+C; --once ends when they are. Lines of .svcignore in the local directory are left out.
Where both sides changed a file, the local version stays, and the other one is kept as NAME.conflict-remote-TIME.
  svc sync . ID:app                              both ways
  svc sync ./src ID:/srv/src --push -x '*.log'   this machine decides
  svc sync ./results ID:results --pull --once`,
    )
    .action(
      act(async (cli, local: string, remote: string, flags: SyncFlags) => {
        const mode = modeOf(flags);
        const copy = parseCopy(local, remote);
        if (copy.direction !== 'upload')
          throw new UsageError(
            'The local directory comes first.',
            'svc sync . ID:app; --pull chooses the direction.',
          );
        await runSync(
          cli,
          { sandboxId: copy.sandboxId, local: copy.local, remote: copy.remote, mode },
          flags,
        );
      }),
    );
}

/** Flags of `svc sync`. */
interface SyncFlags {
  once?: boolean;
  push?: boolean;
  pull?: boolean;
  delete?: boolean;
  prefer?: 'local' | 'remote' | 'newer';
  exclude?: string[];
  gitignore?: boolean;
  vcs?: boolean;
  maxFileSize?: number;
  allowEmpty?: boolean;
  /** False: nothing is remembered. */
  state: boolean;
  user?: string;
}

/** Which way changes go. @throws {UsageError} for both at once */
function modeOf({ push, pull, prefer, delete: extra }: Partial<SyncFlags>): SyncMode {
  if (push && pull)
    throw new UsageError('--push and --pull exclude each other.', 'Without either, both sides are followed.');
  const mode = push ? 'push' : pull ? 'pull' : 'two-way';
  if (mode !== 'two-way' && prefer !== undefined)
    throw new UsageError('--prefer decides conflicts, and one way has none.');
  if (mode === 'two-way' && extra) throw new UsageError('--delete goes with --push or --pull.');
  return mode;
}

interface Pair {
  sandboxId: string;
  local: string;
  remote: string;
  mode: SyncMode;
}

/** Keeps two directories equal until they are interrupted, or for once. */
async function runSync(cli: Cli, pair: Pair, flags: SyncFlags): Promise<void> {
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
    const { syncDirectory } = await import('@svc/sync');
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
    // Ctrl+C is how it is ended; in the middle of the first comparison the exit code reports it.
    if (!signal.aborted || isFirst) throw error;
  } finally {
    stopKeeping();
    progress.done();
  }
}

/** Where the last common state of a pair is kept: outside both directories, so that neither side can change it. */
function stateFileOf(cli: Cli, { sandboxId, local, remote }: Pair): string {
  const key = JSON.stringify([sandboxId, resolve(local), remote]);
  const name = createHash('sha256').update(key).digest('hex').slice(0, 32);
  return join(stateDirectory(cli.env), 'sync', `${name}.json`);
}

type Told = Exclude<SyncEvent, { type: 'progress' | 'stopped' }>;

/** An event as a line for a person: an arrow shows which way it went. */
function describeSyncEvent(event: Told, style: Style): string {
  switch (event.type) {
    case 'change': {
      const arrow = style.cyan(event.side === 'remote' ? '->' : '<-');
      const path = shownPath(event.path);
      if (event.action === 'delete') return `${arrow} deleted ${path}`;
      if (event.action === 'rename') return `${arrow} renamed ${shownPath(event.from ?? '')} to ${path}`;
      const size = event.kind === 'file' ? `  ${formatBytes(event.sizeBytes)}` : '';
      return `${arrow} ${event.action === 'create' ? 'new' : 'changed'} ${path}${event.kind === 'directory' ? '/' : ''}${size}`;
    }
    case 'conflict': {
      const kept = `the ${event.kept} version stays`;
      const other =
        event.copy === undefined ? 'the other one is given up' : `the other one is ${shownPath(event.copy)}`;
      return `${style.yellow('!!')} conflict ${shownPath(event.path)}: ${kept}, ${other}`;
    }
    case 'skipped':
      return `${style.yellow('--')} skipped ${shownPath(event.path)} (${event.side}): ${printable(event.reason)}`;
    case 'synced':
      return style.green(`== ${event.entries} entries are equal on both sides`);
    case 'waiting':
      return event.reason === 'paused'
        ? `${style.yellow('..')} the sandbox is paused; waiting until it is resumed`
        : `${style.yellow('..')} the sandbox cannot be reached; trying again: ${printable(messageOf(event.error))}`;
    case 'resumed':
      return `${style.green('..')} the sandbox is reached again`;
    case 'polling':
      return `${style.yellow('..')} changes of the ${event.side} side are not reported, so it is compared every few seconds: ${printable(messageOf(event.error))}`;
  }
}

/** An event as a record: errors as their messages. */
function recordOf(event: Told): object {
  return 'error' in event ? { ...event, error: messageOf(event.error) } : event;
}

/** A path that the sandbox may have made up: what could pass for other output is escaped. */
function shownPath(path: string): string {
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(path)
    ? JSON.stringify(path).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped)
    : path;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

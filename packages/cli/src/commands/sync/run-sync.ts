import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type SyncEvent, type SyncMode, syncDirectory } from '@svc/sync';
import type { Cli } from '../../cli/cli.js';
import { stateDirectory } from '../../connection/directories.js';
import { formatBytes } from '../../output/format.js';
import { startProgress, transferText } from '../../output/progress.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';
import { keepAlive } from '../sandbox/lifecycle.js';
import type { SyncFlags } from './index.js';

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

import type { SyncEvent } from '@svc/sync';
import { formatBytes } from '../../output/format.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';

type Told = Exclude<SyncEvent, { type: 'progress' | 'stopped' }>;

/** An event as a line for a person: an arrow shows which way it went. */
export function describeSyncEvent(event: Told, style: Style): string {
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
export function recordOf(event: Told): object {
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

import { ConnectionError, SandboxGoneError, SvcError } from '@svc/sdk';
import type { ComponentChildren } from 'preact';
import { visibleText } from '../format/visible-text.js';

/** Something that a reader should know. */
export function Notice({ kind, children }: { kind: 'error' | 'info'; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** Why something could not be read, if so. */
export function Failure({ error }: { error: unknown }) {
  return error === undefined ? null : <Notice kind="error">{explain(error)}</Notice>;
}

/** A title may name the text in the address, and anybody can make a link. Characters. */
const LONGEST_TITLE = 120;

/** Stands where a list would be. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{visibleText(title, LONGEST_TITLE)}</p>
      {children}
    </div>
  );
}

/** Stands where something is about to be. */
export function Loading() {
  return (
    <div class="loading" role="status">
      Loading…
    </div>
  );
}

/** Returns the meaning of a failure for a reader, and the remedy. */
function explain(error: unknown): string {
  if (SandboxGoneError.is(error)) return 'The sandbox is deleted or paused.';
  if (ConnectionError.is(error) || error instanceof TypeError)
    return 'The server does not answer. What you see may be old; it is asked again by itself.';
  if (SvcError.is(error)) return error.message;
  return error instanceof Error ? error.message : String(error);
}

import type { ComponentChildren } from 'preact';
import { explain } from '../connection/explain.js';
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

/** What stands in the address may be named in a title, and anybody can make a link. Characters. */
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

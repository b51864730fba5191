import { useEffect, useRef } from 'preact/hooks';
import type { View } from './router/route.js';

/** Views by the second key after `g`. */
const places: Readonly<Record<string, View>> = {
  s: 'sandboxes',
  t: 'templates',
  v: 'volumes',
  k: 'secrets',
  w: 'webhooks',
  o: 'server',
  m: 'teams',
  a: 'audit',
};

/** Keys that work everywhere but where text is typed. */
export function useKeys(actions: { go: (view: View) => void; help: () => void }): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let going = false;
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.closest('input, select, textarea, dialog, .xterm')) return;
      const place = going ? places[event.key] : undefined;
      going = event.key === 'g';
      if (place !== undefined) latest.current.go(place);
      else if (event.key === '?') latest.current.help();
      else if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('[data-search]');
        if (field === null) return;
        event.preventDefault();
        field.focus();
      } else if (moveBetweenRows(event.key, target)) event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

/** `j`, `k` and the arrows go from row to row; without a row, `j` goes to the first. False when there is none to go to. */
function moveBetweenRows(key: string, target: HTMLElement): boolean {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[key];
  const rows = [...document.querySelectorAll('tbody tr:not(.below)')];
  const own = target.closest('tr');
  const at = rows.indexOf((own?.matches('.below') ? own.previousElementSibling : own) ?? target);
  if (step === undefined || (at < 0 && key !== 'j')) return false;
  const link = rows[at + step]?.querySelector<HTMLElement>('a, button');
  link?.focus();
  return link !== null && link !== undefined;
}

const keys: readonly [keys: string, what: string][] = [
  ['g s', 'sandboxes'],
  ['g t', 'templates'],
  ['g v', 'volumes'],
  ['g k', 'secrets'],
  ['g w', 'webhooks'],
  ['g o', 'the server'],
  ['g m', 'teams'],
  ['g a', 'the audit trail'],
  ['/', 'search or filter'],
  ['j  k  ↓  ↑', 'next and previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'close a question'],
  ['?', 'this list'],
];

/** The list of keys. */
export function Keys({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

import { quote } from '@svc/sdk';
import { parentOf } from '../plan/tree.js';

/** One step in the tree of the sandbox; paths are relative to the root. Steps are numbered by their place in the list. */
export type RemoteStep =
  /** Moves the entry to a name where nothing is. */
  | { kind: 'move'; path: string; to: string; fingerprint: string | undefined }
  | { kind: 'delete'; path: string; fingerprint: string }
  | { kind: 'remove-directory'; path: string }
  | { kind: 'make-directory'; path: string }
  /** Puts what was staged in its place, where nothing may be. */
  | { kind: 'create'; path: string }
  /** Puts what was staged in the place of what is there, if that is still the same. */
  | { kind: 'replace'; path: string; fingerprint: string }
  | { kind: 'chmod'; path: string; fingerprint: string; executable: boolean };

/** Most names in one command line. */
const batchSize = 100;

const prelude = `nl='
'
look() { s=$(find "$@" -maxdepth 0 -printf '%i:%s:%T@:%C@ %p\\n' 2>/dev/null; printf .); s="$nl$s"; }
same() { case "$s" in *"$nl$1 $2$nl"*) return 0;; esac; return 1; }
fail() { printf '%s ' "$1"; }
there() { [ -e "$1" ] || [ -L "$1" ]; }
exec 2>/dev/null </dev/null
`;

/**
 * A shell script that takes the steps in their order, each one only where the tree is still as it was looked at, and
 * prints the numbers of those that it could not take. Pure.
 * @param stage directory with what was staged, relative to the root
 */
export function commitScript(steps: readonly RemoteStep[], stage: string): string {
  const lines: string[] = [];
  for (let at = 0; at < steps.length; ) {
    const first = steps[at] as RemoteStep;
    let end = at + 1;
    while (end < steps.length && end - at < batchSize && isLike(first, steps[end] as RemoteStep)) end += 1;
    const batch = steps.slice(at, end).map((step, index) => ({ ...step, number: at + index }));
    lines.push(...linesOf(first.kind, batch, stage));
    at = end;
  }
  return `${prelude}${lines.join('\n')}\nprintf done\n`;
}

/** The numbers of the steps that a script could not take; undefined when it did not come to its end. */
export function failedSteps(printed: string): Set<number> | undefined {
  const words = printed.split(' ');
  if (words.pop() !== 'done') return undefined;
  return new Set(words.map(Number));
}

type Numbered = RemoteStep & { number: number };

/** Returns true when two steps can share a command. */
function isLike(a: RemoteStep, b: RemoteStep): boolean {
  if (a.kind !== b.kind) return false;
  return (a.kind !== 'create' && a.kind !== 'replace') || parentOf(a.path) === parentOf(b.path);
}

function linesOf(kind: RemoteStep['kind'], steps: readonly Numbered[], stage: string): string[] {
  const place = (path: string) => quote(`./${path}`);
  const staged = (path: string) => quote(`./${stage}/${path}`);
  const into = quote(`./${parentOf(steps[0]?.path ?? '')}`);
  const all = steps.map(({ path }) => place(path)).join(' ');
  const checked = steps.filter((step) => 'fingerprint' in step && step.fingerprint !== undefined);
  const look = checked.length === 0 ? [] : [`look ${checked.map(({ path }) => place(path)).join(' ')}`];
  /** The condition under which a step is still right. */
  const same = (step: Numbered) =>
    'fingerprint' in step && step.fingerprint !== undefined
      ? `same ${quote(step.fingerprint)} ${place(step.path)}`
      : 'true';
  const each = (line: (step: Numbered) => string) => steps.map(line);
  switch (kind) {
    case 'make-directory':
      return [`mkdir -p -- ${all}`, ...each(({ path, number }) => `[ -d ${place(path)} ] || fail ${number}`)];
    case 'remove-directory':
      return each(({ path, number }) => `rmdir -- ${place(path)} || fail ${number}`);
    case 'delete':
      return [
        ...look,
        'set --',
        ...each((step) => `${same(step)} && set -- "$@" ${place(step.path)} || fail ${step.number}`),
        '[ $# -eq 0 ] || rm -f -- "$@"',
      ];
    case 'create':
      return [
        `mv -n -t ${into} -- ${steps.map(({ path }) => staged(path)).join(' ')}`,
        ...each(({ path, number }) => `there ${staged(path)} && fail ${number}`),
        ...each(({ path, number }) => `there ${place(path)} || fail ${number}`),
      ];
    case 'replace':
      return [
        ...look,
        'set --',
        ...each(
          (step) => `${same(step)} && [ ! -d ${place(step.path)} ] && set -- "$@" ${staged(step.path)}`,
        ),
        `[ $# -eq 0 ] || mv -f -t ${into} -- "$@"`,
        ...each(({ path, number }) => `there ${staged(path)} && fail ${number}`),
      ];
    case 'move':
      return [
        ...look,
        ...each((step) => {
          const to = place((step as { to: string }).to);
          const from = place(step.path);
          return `{ ${same(step)} && ! there ${to} && mv -n -T -- ${from} ${to} && ! there ${from}; } || fail ${step.number}`;
        }),
      ];
    case 'chmod':
      return [
        ...look,
        ...each((step) => {
          const bits = (step as { executable: boolean }).executable ? 'u+x,g+rX,o+rX' : 'a-x';
          return `{ ${same(step)} && chmod ${bits} -- ${place(step.path)}; } || fail ${step.number}`;
        }),
      ];
  }
}

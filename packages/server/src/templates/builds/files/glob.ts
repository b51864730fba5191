/** Steps of a pattern. Each says what the next character may be and which steps may come after it. */
type Step =
  | { kind: 'one'; fits(char: string): boolean }
  /** `*`: any number of characters within one part. */
  | { kind: 'some' }
  /** `**`: at least one character of any parts; `begun` once there was one. */
  | { kind: 'all'; begun: boolean }
  /** `**` and a slash: any number of whole parts; `inside` one of them. */
  | { kind: 'parts'; inside: boolean };

/**
 * Compiles a glob: `*` and `?` within one part of a path, `**` across parts, `[a-z]` and `[!a-z]`. Matching takes time in
 * proportion to pattern times path, for any of them: both come from strangers.
 */
export function compileGlob(glob: string): (path: string) => boolean {
  const wild = glob.search(/[*?[]/);
  const prefix = wild < 0 ? glob : glob.slice(0, wild);
  const steps = stepsOf(glob);
  return (path) => path.startsWith(prefix) && matches(steps, path);
}

function stepsOf(glob: string): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob[at]!;
    if (glob.startsWith('**/', at)) {
      steps.push({ kind: 'parts', inside: false }, { kind: 'parts', inside: true });
      at += 2;
    } else if (glob.startsWith('**', at)) {
      steps.push({ kind: 'all', begun: false }, { kind: 'all', begun: true });
      at += 1;
    } else if (char === '*') steps.push({ kind: 'some' });
    else if (char === '?') steps.push({ kind: 'one', fits: (each) => each !== '/' });
    else if (char === '[' && glob.indexOf(']', at + 2) > 0) {
      const end = glob.indexOf(']', at + 2);
      steps.push({ kind: 'one', fits: setOf(glob.slice(at + 1, end)) });
      at = end;
    } else steps.push({ kind: 'one', fits: (each) => each === char });
  }
  return steps;
}

/** `a-z_` or `!a-z_`. */
function setOf(text: string): (char: string) => boolean {
  const negated = text.startsWith('!');
  const body = negated ? text.slice(1) : text;
  const ranges: [string, string][] = [];
  for (let at = 0; at < body.length; at += 1) {
    const range = body[at + 1] === '-' && at + 2 < body.length;
    ranges.push([body[at]!, range ? body[at + 2]! : body[at]!]);
    if (range) at += 2;
  }
  return (char) => char !== '/' && ranges.some(([low, high]) => low <= char && char <= high) !== negated;
}

/** Follows every way through the steps at once. */
function matches(steps: readonly Step[], path: string): boolean {
  let states = new Set<number>();
  enter(steps, 0, states);
  for (const char of path) {
    const next = new Set<number>();
    for (const at of states) {
      const step = steps[at];
      if (step === undefined) continue;
      switch (step.kind) {
        case 'one':
          if (step.fits(char)) enter(steps, at + 1, next);
          break;
        case 'some':
          if (char !== '/') enter(steps, at, next);
          break;
        case 'all':
          enter(steps, step.begun ? at : at + 1, next);
          break;
        case 'parts':
          if (char !== '/') next.add(step.inside ? at : at + 1);
          else if (step.inside) enter(steps, at - 1, next);
      }
    }
    if (next.size === 0) return false;
    states = next;
  }
  return states.has(steps.length);
}

/** Adds a step and those that may come instead of it without another character. */
function enter(steps: readonly Step[], at: number, states: Set<number>): void {
  for (let here = at; !states.has(here); ) {
    states.add(here);
    const step = steps[here];
    if (step?.kind === 'some' || (step?.kind === 'all' && step.begun)) here += 1;
    else if (step?.kind === 'parts' && !step.inside) here += 2;
    else return;
  }
}

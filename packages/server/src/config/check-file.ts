import type { Settings } from './setting.js';
import { settings } from './settings.js';
import { isSetting } from './walk.js';

/**
 * Finds the first thing in a configuration file that is no option or has a wrong value.
 * @returns what is wrong, naming the option and never its value; undefined when all is well
 */
export function findConfigProblem(
  given: Record<string, unknown>,
  rules: Settings = settings,
  path = '',
): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) return `${path}${name} is no option${suggestion(name, Object.keys(rules), path)}`;
    if (isSetting(rule)) {
      const problem = rule.check(value);
      if (problem !== undefined) return `${path}${name} ${problem}`;
      continue;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return `${path}${name} must be a map of ${Object.keys(rule).join(', ')}`;
    const problem = findConfigProblem(value as Record<string, unknown>, rule, `${path}${name}.`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function suggestion(name: string, known: readonly string[], path: string): string {
  const best = known
    .map((each) => ({ each, distance: distance(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (best === undefined || best.distance > Math.max(2, name.length / 3))
    return ` (there are ${known.map((each) => path + each).join(', ')})`;
  return `; ${path}${best.each} is`;
}

/** Counts the letters that must be changed, added or taken away. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

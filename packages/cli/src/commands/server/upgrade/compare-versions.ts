/**
 * Compares two versions as semantic versioning orders them: below 0 when `a` is the older one. What follows `+` counts nothing.
 * Pure.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  for (let at = 0; at < 3; at++) {
    const difference = (left.numbers[at] ?? 0) - (right.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  // A version with a pre-release comes before one without.
  if (left.pre.length === 0 || right.pre.length === 0)
    return Number(left.pre.length === 0) - Number(right.pre.length === 0);
  for (let at = 0; at < Math.max(left.pre.length, right.pre.length); at++) {
    const difference = comparePart(left.pre[at], right.pre[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function parse(version: string): { numbers: number[]; pre: string[] } {
  const [core = '', ...pre] = version.replace(/\+.*$/, '').split('-');
  return { numbers: core.split('.').map(Number), pre: pre.length === 0 ? [] : pre.join('-').split('.') };
}

/** Numbers come before words, and fewer parts before more. */
function comparePart(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  const [isNumber, isOther] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOther) return Number(a) - Number(b);
  if (isNumber !== isOther) return isNumber ? -1 : 1;
  return a < b ? -1 : 1;
}

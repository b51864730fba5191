import { readFileSync } from 'node:fs';
import type { TestContext } from 'vitest';

/** Reasons by the title of a test that a driver cannot pass. */
export type Gaps = ReadonlyMap<string, string>;

/** Reads `<title> | <reason>`, one a line; `#` begins a comment. @throws Error for a line without a reason. */
export function readGaps(file: string | URL): Gaps {
  const gaps = new Map<string, string>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [title, reason] = line.split(' | ');
    if (title === undefined || reason === undefined) throw new Error(`No reason: ${line}`);
    gaps.set(title.trim(), reason.trim());
  }
  return gaps;
}

/** Skips a test that the driver cannot pass, with the reason. For `beforeEach`. */
export function skipGap(context: TestContext, gaps: Gaps | undefined): void {
  const reason = gaps?.get(context.task.name);
  if (reason !== undefined) context.skip(reason);
}

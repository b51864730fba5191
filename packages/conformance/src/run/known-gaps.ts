import { existsSync } from 'node:fs';
import { readGaps } from '@svc/runtime/testing';

/** Cases that are known to fail, with the reason: `known-gaps.txt` for every target, `<target>-gaps.txt` for one. */
export function readKnownGaps(target: string): Map<string, string> {
  const own = new URL(`../${target}-gaps.txt`, import.meta.url);
  return new Map([
    ...readGaps(new URL('../known-gaps.txt', import.meta.url)),
    ...(existsSync(own) ? readGaps(own) : []),
  ]);
}

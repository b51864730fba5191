import { readFileSync } from 'node:fs';

/** Cases that are known to fail, with the reason: `known-gaps.txt`, one a line, `<case id> | <reason>`. */
export function readKnownGaps(): Map<string, string> {
  const text = readFileSync(new URL('../known-gaps.txt', import.meta.url), 'utf8');
  const gaps = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [id, reason] = line.split(' | ');
    if (id === undefined || reason === undefined)
      throw new Error(`known-gaps.txt: '${line}' is not '<id> | <reason>'`);
    gaps.set(id.trim(), reason.trim());
  }
  return gaps;
}

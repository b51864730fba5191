// Destinations that no sandbox may reach: one list for packages that must not import each other.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { header } from './provenance.mjs';

/** Returns path below `src/gen` to content. */
export function deniedRangesFiles(specDirectory) {
  const input = readFileSync(join(specDirectory, 'denied-ranges.txt'), 'utf8');
  const ranges = input.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const lines = ranges.map((range) => `  '${range}',\n`).join('');
  const code = `/** Destinations that no sandbox may reach, IPv4 first. */\nexport const DENIED_RANGES: readonly string[] = [\n${lines}];\n`;
  return { 'denied-ranges.ts': header('spec/denied-ranges.txt', input) + code };
}

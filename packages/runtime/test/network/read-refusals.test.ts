import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { REFUSALS } from '../../src/linux-driver/network/nft-rules.js';
import { readRefusals } from '../../src/linux-driver/network/read-counters.js';
import { assetPath } from '../../src/shared/assets.js';
import { runProgram } from '../../src/shared/run-program.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-refusals-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The most output of a script. */
const OUTPUT_LIMIT = 256 * 1024;
const LINKS = 4096;

it('reads the counts of all links for all reasons from less than a script may print', async () => {
  const sets = Object.keys(REFUSALS).map((name) => {
    const counts = Array.from({ length: LINKS }, (_, lease) => {
      // A deleted link has its number in place of its name.
      const link = lease % 2 === 0 ? `"s${lease}"` : String(lease);
      return `${link} counter packets 12 bytes 912 expires 5h59m59s${lease % 1000}ms`;
    });
    return `\tset refused_${name} {\n\t\ttype iface_index\n\t\tsize 4096\n\t\telements = { ${counts.join(',\n\t\t\t     ')} }\n\t}\n`;
  });
  const other = '\tset own {\n\t\telements = { 10.0.0.0/8, 127.0.0.0/8 }\n\t}\n';
  writeFileSync(join(folder, 'sets'), `table inet sandboxes {\n${other}${sets.join('')}${other}}\n`);
  const { stdout } = await runProgram('sh', [
    '-euc',
    `ip() { cat ${folder}/sets; }; . ${assetPath('functions/network.sh')}; network_refusals`,
  ]);
  expect(stdout.length).toBeLessThan(OUTPUT_LIMIT);
  const answers = Object.fromEntries(stdout.split('\n').map((line) => line.split('=')));
  const refusals = readRefusals(answers);
  expect(refusals).toHaveLength((LINKS / 2) * Object.keys(REFUSALS).length);
  expect(refusals.slice(0, 2)).toEqual([
    { lease: 0, reason: REFUSALS.foreign.reason, packets: 12 },
    { lease: 2, reason: REFUSALS.foreign.reason, packets: 12 },
  ]);
  expect(new Set(refusals.map(({ reason }) => reason)).size).toBe(Object.keys(REFUSALS).length);
});

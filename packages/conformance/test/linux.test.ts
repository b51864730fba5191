import { test } from 'vitest';
import { linuxLacks } from '../src/linux-host.js';
import { describeConformance } from '../src/run/describe-conformance.js';
import { startEmbedded } from '../src/targets/embedded.js';

const lacks = await linuxLacks();

if (lacks === undefined) describeConformance('linux', () => startEmbedded('linux'));
else {
  console.warn(`conformance on linux: skipped. ${lacks}`);
  test.skip(`conformance on linux: ${lacks}`, () => {});
}

import { test } from 'vitest';
import { linuxLacks } from '../src/linux-host.js';
import { describeConformance } from '../src/run/describe-conformance.js';
import { startEmbedded } from '../src/targets/embedded.js';

const lacks =
  process.env.SVC_GVISOR === '1' ? await linuxLacks({ isolation: 'gvisor' }) : 'SVC_GVISOR=1 is not set';

if (lacks === undefined) describeConformance('gvisor', () => startEmbedded('gvisor'));
else {
  console.warn(`conformance on gvisor: skipped. ${lacks}`);
  test.skip(`conformance on gvisor: ${lacks}`, () => {});
}

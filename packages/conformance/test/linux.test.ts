import { isGate } from '@svc/support/testing/tier';
import { test } from 'vitest';
import { linuxLacks } from '../src/linux-host.js';
import { decidedByDriver } from '../src/run/decided-by-driver.js';
import { describeConformance } from '../src/run/describe-conformance.js';
import { startEmbedded } from '../src/targets/embedded.js';

const lacks = await linuxLacks();

if (lacks === undefined)
  // The gate tries what the API answers by itself on the process driver alone.
  describeConformance('linux', () => startEmbedded('linux'), isGate ? decidedByDriver : undefined);
else {
  console.warn(`conformance on linux: skipped. ${lacks}`);
  test.skip(`conformance on linux: ${lacks}`, () => {});
}

import type { TestContext } from 'vitest';
import type { Capabilities } from '../contract/capabilities.js';
import type { Workbench } from './workbench.js';

type Switch = { [K in keyof Capabilities]: Capabilities[K] extends boolean ? K : never }[keyof Capabilities];

/** Skips the test, with the driver's own reasons, when the driver does not claim the capability. */
export function requireCapability(context: TestContext, bench: Workbench, name: Switch): void {
  const { capabilities } = bench.driver;
  if (!capabilities[name])
    context.skip(`the driver does not claim ${name}: ${capabilities.reasons.join(' ')}`);
}

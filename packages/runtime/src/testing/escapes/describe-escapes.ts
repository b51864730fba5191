import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { type Gaps, skipGap } from '../gaps.js';
import { type DriverFactory, Workbench } from '../workbench.js';
import { imageEscapes } from './images.js';
import { neighbourEscapes } from './neighbours.js';
import { Outside } from './outside.js';
import { raceEscapes } from './races.js';
import { sandboxEscapes } from './sandboxes.js';

export interface DescribeEscapesOptions {
  /** Why the suite cannot run on this host; it is then skipped with this reason. */
  skip?: string | undefined;
  /** Directory for the temporary directories. Default: the system's. */
  parent?: string;
  /** The tests that this driver is known not to pass. */
  gaps?: Gaps;
}

/**
 * Declares the attacks that every isolating driver must withstand as a Vitest suite: what a tenant can write into an
 * image, a layer, a volume or a running sandbox, aimed at files of the host that the suite made for it.
 */
export function describeEscapes(
  name: string,
  factory: DriverFactory,
  options: DescribeEscapesOptions = {},
): void {
  const title = options.skip === undefined ? name : `${name} (skipped: ${options.skip})`;
  describe.skipIf(options.skip !== undefined)(`escapes: ${title}`, () => {
    const bench = new Workbench(factory, options.parent);
    const outside = new Outside(options.parent);
    beforeEach((context) => skipGap(context, options.gaps));
    beforeAll(async () => {
      await bench.open();
    });
    afterEach(async () => {
      await bench.sweep();
      await outside.remove();
    });
    afterAll(async () => {
      await bench.close();
      await bench.remove();
    });

    imageEscapes(bench, outside);
    sandboxEscapes(bench, outside);
    neighbourEscapes(bench, outside);
    raceEscapes(bench, outside);
  });
}

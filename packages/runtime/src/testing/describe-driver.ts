import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { burstPromises } from './promises/burst.js';
import { checkpointPromises } from './promises/checkpoints.js';
import { errorPromises } from './promises/errors.js';
import { freezePromises } from './promises/freeze.js';
import { layerPromises } from './promises/layers.js';
import { lifecyclePromises } from './promises/lifecycle.js';
import { limitPromises } from './promises/limits.js';
import { memoryPromises } from './promises/memory.js';
import { networkPromises } from './promises/network.js';
import { poolPromises } from './promises/pool.js';
import { portPromises } from './promises/ports.js';
import { survivalPromises } from './promises/survival.js';
import { findRemains } from './remains.js';
import { type DriverFactory, Workbench } from './workbench.js';

export interface DescribeDriverOptions {
  /** Why the suite cannot run on this host; it is then skipped with this reason. */
  skip?: string | undefined;
  /** Directory for the temporary data directory. Default: the system's. */
  parent?: string;
  /** Traces on the host that only this kind of driver leaves (cgroups, namespaces, links), by name. */
  remains?: (dataDir: string) => Promise<string[]> | string[];
}

/**
 * Declares the driver contract as a Vitest suite: one test for each promise, those of capabilities that the driver does
 * not claim skipped with the reason. One data directory serves the whole suite and must be empty of traces at its end.
 */
export function describeDriver(
  name: string,
  factory: DriverFactory,
  options: DescribeDriverOptions = {},
): void {
  const title = options.skip === undefined ? name : `${name} (skipped: ${options.skip})`;
  describe.skipIf(options.skip !== undefined)(`the driver contract: ${title}`, () => {
    const bench = new Workbench(factory, options.parent);
    const remains = async () => [
      ...findRemains(bench.dataDir),
      ...((await options.remains?.(bench.dataDir)) ?? []),
    ];
    beforeAll(() => bench.open());
    afterEach(() => bench.sweep());
    afterAll(async () => {
      await bench.close();
      await bench.remove();
    });

    lifecyclePromises(bench);
    portPromises(bench);
    freezePromises(bench);
    limitPromises(bench);
    networkPromises(bench);
    layerPromises(bench);
    checkpointPromises(bench);
    memoryPromises(bench);
    errorPromises(bench);
    poolPromises(bench);
    burstPromises(bench);
    survivalPromises(bench);

    it('leaves no process, mount or other trace once it is closed and everything destroyed', async () => {
      await bench.create();
      await bench.close();
      try {
        expect(await remains()).toEqual([]);
      } finally {
        await bench.open();
      }
    });
  });
}

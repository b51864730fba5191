import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Gaps, skipGap } from '../gaps.js';
import { findLeaks } from '../leaks.js';
import { type DriverFactory, Workbench } from '../workbench.js';
import { burstContract } from './burst.js';
import { checkpointContract } from './checkpoints.js';
import { errorContract } from './errors.js';
import { freezeContract } from './freeze.js';
import { layerContract } from './layers.js';
import { lifecycleContract } from './lifecycle.js';
import { limitContract } from './limits.js';
import { memoryContract } from './memory.js';
import { networkContract } from './network.js';
import { poolContract } from './pool.js';
import { portContract } from './ports.js';
import { survivalContract } from './survival.js';
import { transferContract } from './transfers.js';
import { volumeContract } from './volumes.js';

export interface DescribeDriverOptions {
  /** Why the suite cannot run on this host; it is then skipped with this reason. */
  skip?: string | undefined;
  /** Directory for the temporary data directory. Default: the system's. */
  parent?: string;
  /** The tests that this driver is known not to pass. */
  gaps?: Gaps;
  /** Leaked resources that only this kind of driver can leave on the host (cgroups, namespaces, links), by name. */
  leaks?: (dataDir: string) => Promise<string[]> | string[];
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
    const leaks = async () => [
      ...findLeaks(bench.dataDir),
      ...((await options.leaks?.(bench.dataDir)) ?? []),
    ];
    beforeEach((context) => skipGap(context, options.gaps));
    beforeAll(() => bench.open());
    afterEach(() => bench.sweep());
    afterAll(async () => {
      await bench.close();
      await bench.remove();
    });

    lifecycleContract(bench);
    portContract(bench);
    freezeContract(bench);
    limitContract(bench);
    networkContract(bench);
    layerContract(bench);
    volumeContract(bench);
    checkpointContract(bench);
    memoryContract(bench);
    errorContract(bench);
    poolContract(bench);
    burstContract(bench);
    transferContract(bench);
    survivalContract(bench);

    it('refuses everything in the same way once it is closed', async () => {
      const { driver } = bench;
      await driver.close();
      try {
        const refused = await Promise.allSettled([
          driver.create({ id: 'late', spec: bench.spec() }),
          driver.restore({ id: 'late', spec: bench.spec(), checkpointId: 'none', memory: false }),
          driver.list(),
          driver.adopt('late'),
          driver.reap({ instanceIds: [], checkpointIds: [] }),
          driver.listCheckpoints(),
          driver.deleteCheckpoint('none'),
          driver.layers.list(),
          driver.layers.delete('none'),
        ]);
        for (const outcome of refused)
          expect(outcome).toMatchObject({ reason: { code: 'closed', message: 'The driver is closed.' } });
        expect(() => driver.setPool([])).toThrow('The driver is closed.');
        await driver.close();
      } finally {
        await bench.open();
      }
    });

    it('leaves no process, mount or other trace once it is closed and everything destroyed', async () => {
      await bench.create();
      await bench.close();
      try {
        expect(await leaks()).toEqual([]);
      } finally {
        await bench.open();
      }
    });
  });
}

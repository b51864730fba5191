import { afterAll, afterEach, beforeAll } from 'vitest';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import type { LinuxDriverOptions } from '../../src/linux-driver/state/options.js';
import { Workbench } from '../../src/testing/workbench.js';
import { envdProgram } from './envd-program.js';

type Options = Partial<LinuxDriverOptions>;

/** A workbench of the linux driver for a suite: opened before it, swept after each test, removed at the end. */
export function linuxBench(options: Options = {}): Workbench {
  const bench = benchOf(options);
  beforeAll(() => bench.open());
  afterEach(() => bench.sweep());
  afterAll(async () => {
    await bench.close();
    await bench.remove();
  });
  return bench;
}

/** Runs `task` with a workbench of its own. */
export async function withLinuxBench(
  options: Options,
  task: (bench: Workbench) => Promise<void>,
): Promise<void> {
  const bench = benchOf(options);
  try {
    await bench.open();
    await task(bench);
  } finally {
    await bench.close();
    await bench.remove();
  }
}

function benchOf(options: Options): Workbench {
  return new Workbench(({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdProgram, ...options }));
}

import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { JsonReporterWithSetUps } from './packages/support/testing/json-reporter.js';
import { isGate, nightlyFiles } from './packages/support/testing/tier.js';

const childrenRunSources = fileURLToPath(
  new URL('./packages/support/testing/children-run-sources.ts', import.meta.url),
);

export const allTests = ['test/**/*.test.ts'];

export interface PackageTestOptions {
  /** Longest that one test may take, ms. Default 300 000: these suites start real servers and real sandboxes, on machines that do other things too. */
  testTimeout?: number;
  /** Whether test files run side by side. Default true; false where a file owns the machine (cgroups, mounts). */
  fileParallelism?: boolean;
  /** Test files. Default: all below `test`. A package of several Vitest projects gives none, and each project its own. */
  include?: string[];
  /** Modules run before each test file. */
  setupFiles?: string[];
  /** Module run once around the whole run. */
  globalSetup?: string[];
}

/** The Vitest configuration that every package shares. Siblings are resolved to their sources, so no build is needed. */
export function packageTests(options: PackageTestOptions = {}) {
  const conditions = ['@svc/source'];
  return defineConfig({
    // `import` and `default` are implied. Named here, they would reach Node's own `require` in the workers too, and
    // packages with two builds would get the wrong one. So would `module`: such builds are for bundlers, and Node cannot
    // load all of them.
    resolve: { conditions: [...conditions, 'node'] },
    ssr: { resolve: { conditions: [...conditions, 'node'], externalConditions: conditions } },
    test: {
      include: options.include ?? allTests,
      exclude: [...configDefaults.exclude, ...(isGate ? nightlyFiles(process.cwd()) : [])],
      // A package whose files are all nightly has none in the gate.
      passWithNoTests: isGate,
      testTimeout: options.testTimeout ?? 300_000,
      hookTimeout: 300_000,
      // Sandboxes stand on the host's /usr unless a test asks for the base, which takes a minute to build.
      env: { SVC_BASE_ROOT: process.env.SVC_BASE_ROOT ?? 'host' },
      pool: 'forks',
      maxWorkers: 2,
      // Files of a worker share the modules that they load: reading ours anew for each file took nearly half of the processor time.
      isolate: false,
      fileParallelism: options.fileParallelism ?? true,
      // A test that passes only when it is tried again tells of a fault, in it or in what it tests.
      retry: 0,
      reporters: [
        'default',
        new JsonReporterWithSetUps({ outputFile: process.env.SVC_TEST_RESULTS || 'test-results.json' }),
      ],
      setupFiles: [childrenRunSources, ...(options.setupFiles ?? [])],
      ...(options.globalSetup ? { globalSetup: options.globalSetup } : {}),
    },
  });
}

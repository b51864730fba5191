import { mergeConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

/** Tests of what no database decides, or that choose theirs themselves: run once. */
const once = [
  'test/{unit,gateway,wire-format,builds,hostile}/**',
  'test/component/{forks,linux,separated}.test.ts',
  'test/egress/{network,throughput}.test.ts',
  'test/wire/{malformed,slow-body}.test.ts',
  'test/**/rules.test.ts',
];

/** Everything on SQLite, and what stores anything on PostgreSQL too where SVC_TEST_POSTGRES_URL names one. */
const postgres = process.env.SVC_TEST_POSTGRES_URL;
if (postgres === undefined || postgres === '')
  console.warn('PostgreSQL: skipped, SVC_TEST_POSTGRES_URL is not set (scripts/postgres.sh start)');

export default mergeConfig(packageTests(), {
  test: {
    projects: [
      { extends: true, test: { name: 'sqlite', env: { SVC_TEST_DIALECT: 'sqlite' } } },
      ...(postgres === undefined || postgres === ''
        ? []
        : [
            {
              extends: true,
              test: {
                name: 'postgres',
                env: { SVC_TEST_DIALECT: 'postgres' },
                exclude: once,
              },
            },
          ]),
    ],
  },
});

import { mergeConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

/**
 * Run once, on SQLite, and not on PostgreSQL again: files whose behaviour no database decides. Such a file calls functions that are given no
 * storage, or is about HTTP, connections, files of the data directory, the driver or the program, and stores nothing but the sandboxes and
 * volumes that it makes to look at that; or it starts servers that are told no database. A file that looks at records, or at what becomes of
 * them after a restart or at another server, is not one of these.
 */
const once = [
  'test/{unit,gateway,wire-format,builds,hostile,copies,outbound,tls}/**',
  'test/component/{drain,egress-proxy,escape-volume-deletion,forks,hostile-clean-up,joined-runtime,linux,memory-survives}.test.ts',
  'test/component/{program-ends,separated,uncaught}.test.ts',
  'test/egress/{answers,dns,egress-link,forwarded,network,new-forwarded,refusals,sent,throughput,traffic}.test.ts',
  'test/nodes/{destinations,forward-watch,offer,order-places,read-answer}.test.ts',
  'test/operator/operator.test.ts',
  'test/tracing/{exporter,sampler}.test.ts',
  'test/wire/{malformed,request-log,slow-body}.test.ts',
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

import { mergeConfig } from 'vitest/config';
import { allTests, packageTests } from '../../vitest.shared.js';
import { isGate, postgresFiles } from '../support/testing/tier.js';

/** Everything on SQLite, and on PostgreSQL too where SVC_TEST_POSTGRES_URL names one: in the gate what that database may decide. */
const postgres = process.env.SVC_TEST_POSTGRES_URL;
if (postgres === undefined || postgres === '')
  console.warn('PostgreSQL: skipped, SVC_TEST_POSTGRES_URL is not set (scripts/postgres.sh start)');

export default mergeConfig(packageTests({ include: [] }), {
  test: {
    projects: [
      { extends: true, test: { name: 'sqlite', include: allTests, env: { SVC_TEST_DIALECT: 'sqlite' } } },
      ...(postgres === undefined || postgres === ''
        ? []
        : [
            {
              extends: true,
              test: {
                name: 'postgres',
                env: { SVC_TEST_DIALECT: 'postgres' },
                include: isGate ? postgresFiles(process.cwd()) : allTests,
              },
            },
          ]),
    ],
  },
});

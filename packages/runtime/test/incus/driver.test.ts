import { afterAll, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { createIncusDriver } from '../../src/incus-driver/create-incus-driver.js';
import { describeDriver } from '../../src/testing.js';
import { envdProgram } from '../support/envd-program.js';
import {
  INCUS_TEST_MS,
  incusSkipReason,
  leakedByCluster,
  startTestCluster,
  type TestCluster,
} from '../support/incus-host.js';

vi.setConfig({ testTimeout: INCUS_TEST_MS, hookTimeout: INCUS_TEST_MS });
const skip = incusSkipReason();
let cluster: Promise<TestCluster> | undefined;

afterAll(async () => (await cluster)?.stop());

describeDriver(
  'incus',
  async ({ dataDir }) => {
    cluster ??= startTestCluster(3);
    return createIncusDriver({ dataDir, daemon: envdProgram, address: (await cluster).address });
  },
  { skip },
);

it.skipIf(skip !== undefined)('leaves nothing of the cluster on the host', async () => {
  const { plan, stop } = await cluster!;
  cluster = undefined;
  await stop();
  // The kernel takes loop devices away a little after their last mount.
  await eventually('nothing to be left', () => leakedByCluster(plan).length === 0).catch(() => undefined);
  expect(leakedByCluster(plan)).toEqual([]);
});

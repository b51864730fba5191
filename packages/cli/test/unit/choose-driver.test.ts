import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { chooseDriver } from '../../src/commands/server/choose-driver.js';

// A runtime that does not exist makes any host one that cannot isolate.
const desired = { driver: 'auto', ociRuntime: 'no-such-runtime', dataDir: tmpdir() } as const;

it('takes plain processes by itself where the host cannot isolate, but not for who asks for an isolation', async () => {
  expect(await chooseDriver({ ...desired, isolation: undefined })).toMatchObject({ name: 'process' });
  for (const isolation of ['container', 'gvisor'] as const)
    await expect(chooseDriver({ ...desired, isolation })).rejects.toMatchObject({ code: 'host_unfit' });
});

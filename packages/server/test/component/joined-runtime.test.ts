import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import { createProcessDriver } from '@svc/runtime/process';
import { serveDriver } from '@svc/runtime/remote';
import { expect, it, onTestFinished } from 'vitest';
import { startSeparatedServer } from '../../src/process/separate/start-separated.js';
import { runtimeTokenFile } from '../../src/storage/data/data-layout.js';

it('a server does not start beside a runtime with another isolation than its own', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-joined-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const driver = await createProcessDriver({
    dataDir: path.join(directory, 'driver'),
    daemon: daemonProgram,
  });
  const socketPath = path.join(directory, 'runtime.sock');
  const token = 'of-a-test';
  const served = await serveDriver(driver, { socketPath, token });
  onTestFinished(() => served.close());
  await writeFile(runtimeTokenFile(socketPath), token);
  const refused = startSeparatedServer(
    { dataDir: directory, apiPort: 0, sandboxPort: 0, logLevel: 'silent', isolation: 'gvisor' },
    { kind: 'beside-root', socket: socketPath },
  );
  await expect(refused).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/by "gvisor", and the svc-runtime at .* by "none": give both the same/),
  });
  // It is let go, so that it starts again with what it is told then.
  await served.abandoned;
});

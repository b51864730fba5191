import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { childProgram, runTestCode } from '@svc/support/testing/child-program';
import { describe, expect, it, onTestFinished } from 'vitest';

const able = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost({}));
const entry = childProgram(new URL('../../src/index.ts', import.meta.url)).file;

describe.each(['process', 'linux'])('a program that starts a server on %s', (driver) => {
  it.skipIf(driver === 'linux' && !able)('sees the end of its stop, and ends by itself', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-program-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    await chmod(directory, 0o711);
    const options = {
      dataDir: join(directory, 'data'),
      ...{ driver, apiPort: 0, sandboxPort: 0, operatorPort: false, logLevel: 'silent' },
    };
    const program = join(directory, 'program.ts');
    await writeFile(
      program,
      `import { startServer } from ${JSON.stringify(entry)};
      await using server = await startServer(${JSON.stringify(options)});
      await server.stop();
      console.log('stopped');`,
    );
    // A promise that nothing settles any more ends Node with 13.
    const { stdout } = await promisify(execFile)(process.execPath, [...runTestCode, program]);
    expect(stdout).toBe('stopped\n');
  });
});

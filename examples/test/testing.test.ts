import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('test-an-agent passes without a service', async () => {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', 'test-an-agent.mjs'], { cwd });
  expect(stdout).toMatch(/pass 3$/m);
  expect(stdout).toMatch(/fail 0$/m);
});

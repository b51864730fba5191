import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { unpackByProgram } from '../../src/templates/builds/images/zstd.js';

const able = spawnSync('zstd', ['--version']).status === 0;
const content = randomBytes(3 * 2 ** 20);

async function unpacked(packed: Buffer, program?: [string, ...string[]]): Promise<Buffer> {
  return Buffer.concat(await Readable.from(unpackByProgram(Readable.from([packed]), program)).toArray());
}

it.skipIf(!able)('unpacks what zstd packed', async () => {
  const packed = execFileSync('zstd', ['-cq'], { input: content, maxBuffer: 2 ** 23 });
  expect((await unpacked(packed)).equals(content)).toBe(true);
});

it.skipIf(!able)('refuses a layer that ends too early, or is none', async () => {
  const packed = execFileSync('zstd', ['-cq'], { input: content, maxBuffer: 2 ** 23 });
  await expect(unpacked(packed.subarray(0, packed.length / 2))).rejects.toThrow(/cannot be read/);
  await expect(unpacked(content)).rejects.toThrow(/cannot be read/);
});

it('gives the program nothing of the environment of the server', async () => {
  process.env.SVC_TEST_KEY_OF_SERVER = 'not for strangers';
  try {
    const environment = String(await unpacked(content, ['sh', '-c', 'cat >/dev/null; env']));
    expect(environment).toContain('PATH=');
    expect(environment).not.toContain('not for strangers');
  } finally {
    delete process.env.SVC_TEST_KEY_OF_SERVER;
  }
});

it('says what to install where the program is missing', async () => {
  await expect(unpacked(content, ['/nowhere/zstd'])).rejects.toThrow(/apt-get install zstd/);
});

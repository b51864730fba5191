import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { InvalidRequestError } from '../../src/errors/answer-errors.js';
import { localFiles } from '../../src/runtime/node-files/index.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-walk-'));
  await writeFile(join(root, 'good'), '1');
  await writeFile(join(root, 'legal-\ufffd'), '2');
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function names(isExcluded: (path: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for await (const { path } of localFiles.walk(root, isExcluded)) found.push(path);
  return found;
}

// Other systems refuse such names.
it.runIf(process.platform === 'linux')(
  'leaves out no file without a word whose name is not UTF-8',
  async () => {
    expect(await names(() => false)).toEqual(['good', 'legal-\ufffd']);
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff]), Buffer.from('bad')]), '3');
    const walked = names(() => false);
    await expect(walked).rejects.toThrow(InvalidRequestError);
    await expect(walked).rejects.toThrow(/"\ufffdbad": the name is not UTF-8/);
    expect(await names((path) => path.endsWith('bad'))).toEqual(['good', 'legal-\ufffd']);
  },
);

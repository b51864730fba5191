import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@svc/server';
import { type CodeBlock, readPages } from '@svc/support/testing/code-blocks';
import { expect, it, onTestFinished } from 'vitest';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));
const blocks = readPages().flatMap((page) => page.blocks);
const isThere = (program: string) => spawnSync(program, ['--version']).status === 0;

/** A job of Prometheus, which reads it by itself. */
const isForPrometheus = ({ code }: CodeBlock) => code.startsWith('scrape_configs:');

/** A file for one test. */
async function fileOf(code: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-page-file-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'file.yaml');
  await writeFile(file, code);
  return file;
}

it('shows configuration files that the server takes, and would report one that it does not', async () => {
  const shown = blocks.filter((block) => /^ya?ml$/.test(block.language) && !isForPrometheus(block));
  expect(shown.length).toBeGreaterThan(1);
  for (const { page, line, code } of shown) {
    const file = await fileOf(code);
    await loadConfig({ file, env: {} }).catch((error: Error) => {
      throw new Error(`${page}:${line}: ${error.message}`);
    });
  }
  const wrong = await fileOf('apiPort: 3100\nteamLimit: {}\n');
  await expect(loadConfig({ file: wrong, env: {} })).rejects.toThrow(/teamLimit/);
});

it.skipIf(!isThere('promtool'))('shows a job that Prometheus takes', async () => {
  const shown = blocks.filter(isForPrometheus);
  expect(shown.length).toBeGreaterThan(0);
  for (const { code } of shown)
    execFileSync('promtool', ['check', 'config', '--syntax-only', await fileOf(code)]);
});

it('shows JSON that can be read', () => {
  const shown = blocks.filter(({ language }) => language === 'json');
  expect(shown.length).toBeGreaterThan(0);
  for (const { page, line, code } of shown) expect(() => JSON.parse(code), `${page}:${line}`).not.toThrow();
});

it.skipIf(!isThere('systemd-analyze'))('has units that systemd takes', () => {
  const units = ['svc.service', 'svc-runtime.service'].map((name) => join(repository, 'docs', name));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/resolve.js';

let directory: string;
let file: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-config-'));
  file = path.join(directory, 'server.yaml');
  await writeFile(
    file,
    'host: from-file\napiPort: 1\nsandboxPort: 1\ndomain: file.test\nteamLimits: {maxSecrets: 3}\n',
  );
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('configuration', () => {
  it('takes flags over the environment, the environment over the file, the file over defaults', async () => {
    const env = { SVC_CONFIG: file, SVC_API_PORT: '2', SVC_SANDBOX_PORT: '2', SVC_DATA_DIR: directory };
    const options = await loadConfig({ env, flags: { sandboxPort: 3 } });
    expect(options).toMatchObject({ host: 'from-file', apiPort: 2, sandboxPort: 3, dataDir: directory });
    const config = resolveConfig(options, { nodeId: 'n', envdVersion: '1', apiUrl: 'a', sandboxUrl: 's' });
    expect(config).toMatchObject({ domain: 'file.test', announceDomain: true, maxSandboxes: 1_000 });
    expect(config.teamLimits).toMatchObject({ maxSecrets: 3, maxWebhooks: 10 });
  });
  it('lets an absent flag and an empty variable say nothing', async () => {
    const env = { SVC_API_PORT: '', SVC_DATA_DIR: directory };
    const options = await loadConfig({ file, env, flags: { apiPort: undefined as never } });
    expect(options.apiPort).toBe(1);
  });
  it('names the variable or the file that cannot be read, and never its value', async () => {
    await expect(loadConfig({ env: { SVC_API_PORT: 'secret!' } })).rejects.toThrow(
      /^SVC_API_PORT must be a whole number$/,
    );
    await expect(loadConfig({ env: { SVC_DRIVER: 'magic' } })).rejects.toThrow(
      /^SVC_DRIVER must be one of linux, process$/,
    );
    const missing = path.join(directory, 'missing.yaml');
    await expect(loadConfig({ file: missing, env: {} })).rejects.toThrow(missing);
    const list = path.join(directory, 'list.yaml');
    await writeFile(list, '- a\n');
    await expect(loadConfig({ file: list, env: {} })).rejects.toThrow('it must be a map of options');
  });
});

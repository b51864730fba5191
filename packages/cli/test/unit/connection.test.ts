import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig, writeConfig } from '../../src/connection/config-file.js';
import { configDirectory, defaultDataDirectory } from '../../src/connection/directories.js';
import { processStart } from '../../src/connection/process-identity.js';
import { resolveConnection } from '../../src/connection/resolve-connection.js';
import {
  findDataDirectory,
  type RunFile,
  readRunFile,
  removeRunFile,
  writeRunFile,
} from '../../src/connection/run-file.js';

const nothing = { options: {}, env: {}, config: {}, local: undefined };
const local = { apiKey: 'local-key', apiUrl: 'http://127.0.0.1:3000', sandboxUrl: 'http://127.0.0.1:3002' };

describe('the service to talk to', () => {
  it('is the local server when nothing else is said', () => {
    expect(resolveConnection({ ...nothing, local })).toEqual({
      ...local,
      keyFrom: 'local server',
      addressFrom: 'local server',
    });
  });

  it('prefers option, environment and settings in this order', () => {
    const config = { apiKey: 'kept', apiUrl: 'https://kept' };
    const env = { SVC_API_KEY: 'env', SVC_API_URL: 'https://env' };
    expect(
      resolveConnection({ ...nothing, config, env, local, options: { apiUrl: 'https://option' } }),
    ).toEqual({
      apiKey: 'env',
      apiUrl: 'https://option',
      keyFrom: 'environment',
      addressFrom: 'option',
    });
    expect(resolveConnection({ ...nothing, config, local })).toMatchObject({
      apiKey: 'kept',
      apiUrl: 'https://kept',
    });
  });

  it('takes addresses of one source as a whole', () => {
    const config = { apiUrl: 'https://kept', sandboxUrl: 'https://kept-gateway' };
    expect(resolveConnection({ ...nothing, config, env: { SVC_API_URL: 'https://env' } })).not.toHaveProperty(
      'sandboxUrl',
    );
    expect(resolveConnection({ ...nothing, local, env: { SVC_DOMAIN: 'example.com' } })).not.toHaveProperty(
      'apiUrl',
    );
  });

  it('knows the gateway of the local server by its API', () => {
    const found = resolveConnection({ ...nothing, local, env: { SVC_API_URL: 'http://localhost:3000/' } });
    expect(found).toMatchObject({ sandboxUrl: local.sandboxUrl, apiKey: 'local-key' });
  });

  it("never gives the local server's key to another address", () => {
    const found = resolveConnection({ ...nothing, local, env: { SVC_API_URL: 'https://elsewhere.example' } });
    expect(found.apiKey).toBeUndefined();
  });
});

describe('files of the command line', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-cli-unit-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('lie where the platform wants them', () => {
    expect(configDirectory({ HOME: '/h' })).toBe('/h/.config/svc');
    expect(configDirectory({ HOME: '/h', XDG_CONFIG_HOME: '/x' })).toBe('/x/svc');
    expect(defaultDataDirectory({ HOME: '/h' }, true)).toBe('/var/lib/svc');
    expect(defaultDataDirectory({ HOME: '/h' }, false)).toBe('/h/.local/state/svc');
  });

  it('keep settings for their owner alone', async () => {
    const file = join(dir, 'a', 'config.json');
    expect(await readConfig(file)).toEqual({});
    await writeConfig(file, { apiKey: 'k' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readConfig(file)).toEqual({ apiKey: 'k' });
    await writeFile(file, '{broken');
    await expect(readConfig(file)).rejects.toThrow('no JSON object');
  });

  it('tell a running server from a later process with its pid', async () => {
    const env = { HOME: dir };
    const run = {
      pid: process.pid,
      processStart: (await processStart(process.pid))!,
      dataDir: dir,
    } as RunFile;
    await writeRunFile(env, run);
    expect(await readRunFile(dir)).toEqual({ run, alive: true });
    expect(await findDataDirectory(env)).toBe(dir);
    expect(await findDataDirectory({ ...env, SVC_DATA_DIR: '/other' })).toBe('/other');
    await writeRunFile(env, { ...run, processStart: 'earlier' });
    expect(await readRunFile(dir)).toMatchObject({ alive: false });
    await removeRunFile(dir, process.pid + 1);
    expect(await readRunFile(dir)).toBeDefined();
    await removeRunFile(dir, process.pid);
    expect(await readRunFile(dir)).toBeUndefined();
  });
});

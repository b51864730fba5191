import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processStart } from '#support/process-identity';
import { readConfig, writeConfig } from '../../src/connection/config-file.js';
import { configDirectory, defaultDataDirectory } from '../../src/connection/directories.js';
import { describeChoice, describeTarget } from '../../src/connection/find-connection.js';
import { findOperator } from '../../src/connection/find-operator.js';
import { findDataDirectory, forgetServer, rememberServer } from '../../src/connection/local-servers.js';
import { resolveConnection } from '../../src/connection/resolve-connection.js';
import { type RunFile, readRunFile, removeRunFile, writeRunFile } from '../../src/connection/run-file.js';
import { runOf } from '../support/run-of.js';

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
    await expect(readConfig(file)).rejects.toThrow('not a JSON object');
  });

  it('distinguish a running server from a later process with its pid', async () => {
    const run = runOf(dir);
    await writeRunFile(run);
    expect(await readRunFile(dir)).toEqual({ run, alive: true });
    await writeRunFile({ ...run, processStart: 'earlier' });
    expect(await readRunFile(dir)).toMatchObject({ alive: false });
    await removeRunFile(dir, process.pid + 1);
    expect(await readRunFile(dir)).toBeDefined();
    await removeRunFile(dir, process.pid);
    expect(await readRunFile(dir)).toBeUndefined();
  });

  it('find the running server that was started last, and name the others', async () => {
    const env = { HOME: dir };
    const start = async (name: string, startedAt: string, alive = true) => {
      const dataDir = join(dir, name);
      await mkdir(dataDir);
      const processStarted = alive ? processStart(process.pid)! : 'earlier';
      await writeRunFile(runOf(dataDir, { processStart: processStarted, startedAt }));
      await rememberServer(env, dataDir);
      return dataDir;
    };
    const first = await start('first', '2026-01-01T00:00:00Z');
    const second = await start('second', '2026-01-02T00:00:00Z');
    await start('killed', '2026-01-03T00:00:00Z', false);
    expect(await findDataDirectory(env)).toMatchObject({ dataDir: second, others: [{ dataDir: first }] });
    expect(await findDataDirectory({ ...env, SVC_DATA_DIR: '/other' })).toEqual({
      dataDir: '/other',
      others: [],
    });
    await forgetServer(env, second);
    expect(await findDataDirectory(env)).toMatchObject({ dataDir: first, others: [] });
    await forgetServer(env, first);
    expect((await findDataDirectory(env)).dataDir).toBe(join(dir, 'killed'));
  });
});

describe('what is said of the service that nobody named', () => {
  const server = {
    ...local,
    dataDir: '/data',
    running: true,
    keyForbidden: false,
    privateWebhooks: false,
    others: [],
  };
  const other = { apiUrl: 'http://127.0.0.1:4000', dataDir: '/other' } as RunFile;
  const found = { ...local, keyFrom: 'local server', addressFrom: 'local server' } as const;

  it('is nothing when it is the only one, and its name when something is destroyed', () => {
    expect(describeChoice(found, server)).toBeUndefined();
    expect(describeTarget(found, server)).toContain('http://127.0.0.1:3000 (server of this machine, /data)');
  });

  it('is its name when there are others', () => {
    expect(describeChoice(found, { ...server, others: [other] })).toMatch(
      /127\.0\.0\.1:3000 \(\/data\).*also here: http:\/\/127\.0\.0\.1:4000 \(\/other\)/,
    );
    const kept = { apiUrl: 'https://kept', keyFrom: 'settings', addressFrom: 'settings' } as const;
    expect(describeChoice(kept, server)).toContain('https://kept');
  });

  it('is nothing when it was named', () => {
    const named = { ...local, keyFrom: 'environment', addressFrom: 'environment' } as const;
    expect(describeChoice(named, { ...server, others: [other] })).toBeUndefined();
    expect(describeTarget(named, server)).toBeUndefined();
  });
});

describe('the operator port', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'svc-operator-'));
    // As root it keeps what the server has in a directory of its own.
    await mkdir(join(dataDir, 'server'));
    await writeRunFile(runOf(dataDir, { operatorUrl: 'http://127.0.0.1:3' }));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  it('is opened by the token that a server with a process for the rights of root keeps', async () => {
    await writeFile(join(dataDir, 'server/operator-token'), 'secret\n');
    expect(await findOperator({ SVC_DATA_DIR: dataDir })).toMatchObject({
      operatorUrl: 'http://127.0.0.1:3',
      token: 'secret',
    });
  });

  it('gets nothing that a link of the server leads to', async () => {
    await writeFile(join(dataDir, 'of-root'), 'a secret of somebody else');
    await symlink('../of-root', join(dataDir, 'server/operator-token'));
    await expect(findOperator({ SVC_DATA_DIR: dataDir })).rejects.toThrow('which you may not read');
  });

  it('waits for no writer, and reads nothing that is no file or has no end', async () => {
    const file = join(dataDir, 'server/operator-token');
    execFileSync('mkfifo', [file]);
    await expect(findOperator({ SVC_DATA_DIR: dataDir })).rejects.toThrow('which you may not read');
    await rm(file);
    await writeFile(file, Buffer.alloc((1 << 20) + 1, 'x'));
    await expect(findOperator({ SVC_DATA_DIR: dataDir })).rejects.toThrow('which you may not read');
  });
});

describe('the record of a server', () => {
  let dataDir: string;
  const told = (more: object = {}) =>
    writeFile(join(dataDir, 'running.json'), JSON.stringify({ ...runOf(dataDir), ...more }));
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'svc-told-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  it('is taken from the process of its user', async () => {
    await told();
    expect(await readRunFile(dataDir)).toMatchObject({ alive: true, run: { pid: process.pid, dataDir } });
    await told({ processStart: '1' });
    expect(await readRunFile(dataDir)).toMatchObject({ alive: false });
  });

  it('names no other directory, which root would remove', async () => {
    await told({ dataDir: '/etc' });
    expect((await readRunFile(dataDir))?.run.dataDir).toBe(dataDir);
  });

  it('names no process of somebody else, which root would end', async (context) => {
    if (process.getuid?.() !== 0) context.skip('only root may give files to others');
    await told();
    await chown(join(dataDir, 'running.json'), 65_534, 65_534);
    expect(await readRunFile(dataDir)).toMatchObject({ alive: false });
    // The process of root that stands for a server of two processes.
    const script = 'setInterval(() => {}, 1000); console.log("up")';
    const server = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(server.stdout, 'data');
      const start = processStart(server.pid!);
      await told({ pid: server.pid, processStart: start });
      expect(await readRunFile(dataDir)).toMatchObject({ alive: false });
      await mkdir(join(dataDir, 'driver'));
      await writeFile(join(dataDir, 'driver/driver.lock'), JSON.stringify({ pid: server.pid, start }));
      expect(await readRunFile(dataDir)).toMatchObject({ alive: true, run: { pid: server.pid } });
      // A directory that others can write to proves nothing of root.
      await chmod(dataDir, 0o777);
      expect(await readRunFile(dataDir)).toMatchObject({ alive: false });
    } finally {
      server.kill('SIGKILL');
    }
  });

  it.each(['', '[]', 'null', '{"pid":"1"}', '{"pid":1.5}', '{"pid":7}'])(
    'is nothing when it is %j',
    async (text) => {
      await writeFile(join(dataDir, 'running.json'), text);
      expect(await readRunFile(dataDir)).toBeUndefined();
    },
  );
});

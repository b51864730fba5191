import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Driver } from '@svc/runtime/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { startServer } from '../../src/index.js';
import { CleanUp } from '../../src/sandboxes/recovery/clean-up.js';
import { childEnvironment, startChildServer } from '../support/child-server.js';
import { startTestServer } from '../support/server.js';

const NO_CORE = /^Max core file size\s+0\s+0\s/m;

/** A program that fills a directory faster than anybody removes it. */
async function writeForEver(directory: string): Promise<ChildProcess> {
  const child = spawn(
    'sh',
    [
      '-c',
      'echo; i=0; while :; do i=$((i+1)); mkdir -p "$0/a/b$((i%20))"; true > "$0/a/b$((i%20))/$i"; done 2>&-',
      directory,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  await once(child.stdout!, 'data');
  return child;
}

describe('clean-up that a hostile program hinders', () => {
  it('does not keep the server from starting, and is done once the program ends', async () => {
    const test = await startTestServer({ tuning: { cleanUpIntervalMs: 20 } });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const trash = path.join(test.dataDir, 'builds', '.trash');
    const writer = await writeForEver(path.join(trash, 'left-by-a-build'));
    onTestFinished(() => void writer.kill('SIGKILL'));
    await test.restart();
    expect((await test.api('GET', '/v2/sandboxes')).status).toBe(200);
    // Removed again and again, and there again each time.
    await eventually('the program to write', async () => (await readdir(trash)).includes('left-by-a-build'));
    writer.kill('SIGKILL');
    await once(writer, 'close');
    await eventually('the trash is empty', async () => (await readdir(trash)).length === 0);
  });

  it('continues with the next step when one fails, logs it and tries again', async () => {
    let locked = true;
    const told: unknown[] = [];
    const done: string[] = [];
    const cleanUp = new CleanUp(
      {
        config: { cleanUpIntervalMs: 1 } as never,
        log: { warn: (fields: { what: string }) => told.push(fields.what) } as never,
      },
      [
        [
          'the locked one',
          async () => (locked ? Promise.reject(new Error('EBUSY')) : void done.push('locked')),
        ],
        ['the free one', async () => void done.push('free')],
      ],
    );
    onTestFinished(() => cleanUp.stop());
    await eventually('both were tried', async () => done.includes('free') && told.length > 0);
    expect(told[0]).toBe('the locked one');
    locked = false;
    await eventually('the locked one is done', async () => done.includes('locked'));
  });

  it('lets the server start although the driver cannot reap', async () => {
    const { createProcessDriver } = await import('@svc/runtime/process');
    const driverDir = await mkdtemp(path.join(tmpdir(), 'svc-driver-'));
    const { daemonProgram } = await import('@svc/envd');
    const driver = await createProcessDriver({ dataDir: driverDir, daemon: daemonProgram });
    onTestFinished(async () => {
      await driver.close({ destroyInstances: true });
      await rm(driverDir, { recursive: true, force: true });
    });
    const failing = new Proxy(driver, {
      get: (target, name) => {
        if (name === 'reap') return async () => Promise.reject(new Error('the device is busy'));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as Driver;
    const test = await startTestServer({ driver: failing });
    expect(test.server.recovery.reaped).toEqual([]);
    await test[Symbol.asyncDispose]();
  });

  it('puts the drafts of interrupted builds away before the server takes new ones', async () => {
    const test = await startTestServer({ tuning: { cleanUpIntervalMs: 20 } });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const builds = path.join(test.dataDir, 'builds');
    await mkdir(path.join(builds, 'drafts', 'half'), { recursive: true });
    await test.restart();
    expect(await readdir(builds)).not.toContain('drafts');
    await eventually(
      'they are deleted',
      async () => (await readdir(path.join(builds, '.trash'))).length === 0,
    );
  });
});

describe('the data directory', () => {
  const options = (dataDir: string) =>
    ({
      dataDir,
      driver: 'process',
      apiPort: 0,
      sandboxPort: 0,
      operatorPort: false,
      logLevel: 'silent',
    }) as const;

  it('that others could read is theirs no more once the server starts', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-open-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    await chmod(dataDir, 0o755);
    const server = await startServer(options(dataDir));
    await server.stop();
    expect((await stat(dataDir)).mode & 0o7777).toBe(0o700);
  });

  it('of another user is refused, with what to do', async () => {
    if (process.getuid?.() !== 0) return;
    const { chown } = await import('node:fs/promises');
    const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-foreign-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    await chown(dataDir, 12_345, 12_345);
    await expect(startServer(options(dataDir))).rejects.toThrow(/belongs to user 12345.*chown -R 0/);
  });

  it('that is a file is refused', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-file-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(path.join(folder, 'x'), '');
    await expect(startServer(options(path.join(folder, 'x')))).rejects.toThrow(/is not a directory/);
  });
});

describe('the programs that a server starts', () => {
  it.skipIf(process.platform !== 'linux')(
    'inherit no key, and no right to dump core',
    async () => {
      const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-secret-'));
      onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
      const serverKey = 'c0ffee'.padEnd(64, '1');
      const server = await startChildServer({
        ...childEnvironment(dataDir, 'process'),
        SVC_SERVER_KEY: serverKey,
        SVC_POOL_SIZE: '1',
      });
      onTestFinished(() => server.stop());
      const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8'));
      const created = await fetch(`${server.apiUrl}/v2/sandboxes`, {
        method: 'POST',
        headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({ templateID: 'base' }),
      });
      expect(created.status).toBe(201);
      let looked = 0;
      const asStarted = await readFile(`/proc/${server.child.pid}/cmdline`, 'utf8');
      for (const pid of await descendants(server.child.pid!)) {
        // Some are about to end.
        const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
        const command = await read('cmdline');
        // Compiles the server's sources for tests, from before the server began: no release has it.
        if (command.includes('/esbuild')) continue;
        // One that does not run its program yet is still a copy of the server, which this test gave its key that way.
        if (command === asStarted) continue;
        const [environment, limits] = [await read('environ'), await read('limits')];
        expect(`${environment}${command}`).not.toContain(serverKey);
        expect(environment).not.toContain('SVC_SERVER_KEY');
        if (limits === '') continue;
        expect(limits).toMatch(NO_CORE);
        looked += 1;
      }
      expect(looked).toBeGreaterThan(0);
      expect(await readFile(`/proc/${server.child.pid}/limits`, 'utf8')).toMatch(NO_CORE);
      expect(await readFile(`/proc/${server.child.pid}/cmdline`, 'utf8')).not.toContain(serverKey);
      await fetch(
        `${server.apiUrl}/sandboxes/${((await created.json()) as { sandboxID: string }).sandboxID}`,
        {
          method: 'DELETE',
          headers: { 'X-API-Key': apiKey },
        },
      );
    },
    60_000,
  );
});

/** Processes below one, at this moment. */
async function descendants(top: number): Promise<number[]> {
  const found = [top];
  for (const pid of found) {
    for (const task of await readdir(`/proc/${pid}/task`).catch(() => []))
      found.push(
        ...(await readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => ''))
          .split(' ')
          .filter(Boolean)
          .map(Number),
      );
  }
  return found.slice(1);
}

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { findLeaks, findLinks } from '@svc/runtime/testing';
import { Client } from '@svc/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { runProcess } from '../support/run-cli.js';

const able = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost({}));
const anyPorts = ['--port', '0', '--sandbox-port', '0', '--operator-port', '0'];

describe('svc server uninstall', () => {
  let home: string;
  let dataDir: string;
  let env: Record<string, string>;
  const svc = (args: string[]) => runProcess(args, { env, timeoutMs: 240_000 });

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'svc-cli-uninstall-'));
    await chmod(home, 0o711);
    dataDir = join(home, 'data');
    env = { HOME: home, SVC_BASE_ROOT: 'host', SVC_DATA_DIR: dataDir };
  });
  afterEach(async () => {
    if ((await readdir(home)).includes('data')) await svc(['server', 'uninstall', '--yes']);
    await rm(home, { recursive: true, force: true });
  });

  /** Lists the traces of a server of the data directory on this machine. */
  async function found(): Promise<string[]> {
    const rules = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' });
    const loops = execFileSync('losetup', ['--all', '--noheadings'], { encoding: 'utf8' });
    const claims = await readdir('/run/svc/ids').catch(() => []);
    const claimed = await Promise.all(
      claims.map((name) => readFile(join('/run/svc/ids', name), 'utf8').catch(() => '')),
    );
    const driver = join(dataDir, 'driver');
    const tag = createHash('sha256').update(driver).digest('hex').slice(0, 8);
    const groups = await Promise.all(
      (await readdir('/sys/fs/cgroup')).map((name) => readdir(join('/sys/fs/cgroup', name)).catch(() => [])),
    );
    return [
      ...findLeaks(dataDir),
      ...findLinks(driver),
      ...(rules.includes(tag) ? ['rules'] : []),
      ...(loops.includes(driver) ? ['a loop device'] : []),
      ...claimed.filter((text) => text.includes(`"${driver}"`)),
      ...groups.flat().filter((name) => name.includes(tag)),
    ];
  }

  it.skipIf(!able)('leaves nothing of a server with sandboxes that run and are paused', async () => {
    await mkdir(dataDir, { mode: 0o710 });
    await writeFile(join(dataDir, 'mine.txt'), 'of the operator');
    const up = ['server', 'up', '--detach', '--no-trial-start', ...anyPorts];
    expect(await svc(up)).toMatchObject({ code: 0 });
    const read = async (name: string) => JSON.parse(await readFile(join(dataDir, 'server', name), 'utf8'));
    const { apiUrl, sandboxUrl, pid } = await read('running.json');
    const client = new Client({ apiKey: (await read('credentials.json')).apiKey, apiUrl, sandboxUrl });
    await client.sandboxes.create();
    await (await client.sandboxes.create()).pause();
    expect((await found()).length).toBeGreaterThan(4);

    const unconfirmed = await svc(['server', 'uninstall']);
    expect(unconfirmed).toMatchObject({ code: 1 });
    expect(unconfirmed.stderr).toMatch(/DELETES what is stored[\s\S]*--yes/);
    expect(() => process.kill(pid, 0)).not.toThrow();

    const kept = await svc(['server', 'uninstall', '--keep-data', '--yes', '--json']);
    expect(kept).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(kept.stdout)).toMatchObject({ destroyed: 1, removed: [] });
    await eventually('everything on the machine to be deleted', async () => (await found()).length === 0);
    expect((await readdir(join(dataDir, 'driver'))).sort()).toContain('store.img');

    const gone = await svc(['server', 'uninstall', '--yes', '--json']);
    expect(gone).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(gone.stdout)).toMatchObject({ destroyed: 0, left: [join(dataDir, 'mine.txt')] });
    expect(await readdir(dataDir)).toEqual(['mine.txt']);
    expect(await found()).toEqual([]);
  });

  it('removes nothing where no server ever was', async () => {
    await mkdir(join(dataDir, 'server'), { recursive: true });
    await writeFile(join(dataDir, 'server', 'file'), '');
    const run = await svc(['server', 'uninstall', '--yes']);
    expect(run).toMatchObject({ code: 1 });
    expect(run.stderr).toContain(able ? 'There is no data of a server' : 'sudo');
    expect(await readdir(join(dataDir, 'server'))).toEqual(['file']);
    await rm(dataDir, { recursive: true });
  });
});

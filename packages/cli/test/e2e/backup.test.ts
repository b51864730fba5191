import { chmod, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { Client } from '@svc/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { runProcess } from '../support/run-cli.js';

const able = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost({}));

const anyPorts = ['--port', '0', '--sandbox-port', '0', '--operator-port', '0'];

describe('svc server backup and restore', () => {
  let home: string;
  let env: Record<string, string>;
  let servers: string[];
  const svc = (args: string[], options: Parameters<typeof runProcess>[1] = {}) =>
    runProcess(args, { env, timeoutMs: 240_000, ...options });
  /** Starts a server, and gives a client of it. */
  const up = async (dataDir: string) => {
    servers.push(dataDir);
    const options = ['--detach', '--no-trial-start', '--kill-sandboxes-on-stop', ...anyPorts];
    expect(await svc(['server', 'up', '--data-dir', dataDir, ...options])).toMatchObject({ code: 0 });
    env.SVC_DATA_DIR = dataDir;
    const read = async (name: string) => JSON.parse(await readFile(join(dataDir, 'server', name), 'utf8'));
    const { apiUrl, sandboxUrl } = await read('running.json');
    return new Client({ apiKey: (await read('credentials.json')).apiKey, apiUrl, sandboxUrl });
  };

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'svc-cli-backup-'));
    // As /var/lib is: the server's user may pass through.
    await chmod(home, 0o711);
    env = { HOME: home, SVC_BASE_ROOT: 'host' };
    servers = [];
  });
  afterEach(async () => {
    for (const dataDir of servers) await svc(['server', 'down', '--force', '--data-dir', dataDir]);
    await rm(home, { recursive: true, force: true });
  });

  it.skipIf(!able)(
    'take a server with a paused sandbox, volumes and secrets to another data directory',
    async () => {
      const dataDir = join(home, 'data');
      const restored = join(home, 'restored');
      const file = join(home, 'b.tar');
      const before = await up(dataDir);
      const volume = await before.volumes.create('notes');
      await volume.write('/one', 'in a volume');
      await before.secrets.create({ name: 'token', value: 'sesame' });
      const sandbox = await before.sandboxes.create();
      await sandbox.files.write('/home/user/file', 'kept');
      await sandbox.commands.start('exec -a lives sleep 1000');
      await sandbox.pause();

      // Killed half-way it leaves nothing of that name.
      const killed = await svc(['server', 'backup', file], {
        started: async (child) => {
          await eventually('the file to be begun', async () =>
            (await readdir(home)).some((name) => name.endsWith('.part')),
          );
          child.kill('SIGKILL');
        },
      });
      expect(killed.code).toBe(null);
      expect(await readdir(home)).not.toContain('b.tar');

      const made = await svc(['server', 'backup', file]);
      expect(made).toMatchObject({ code: 0, stderr: '' });
      expect(made.stdout).toContain('1 paused sandboxes');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect((await svc(['server', 'backup', file])).stderr).toContain('exists already');
      // Over data that is there: not without being asked to, and never while its server runs.
      const over = await svc(['server', 'restore', file, '--data-dir', dataDir]);
      expect(over).toMatchObject({ code: 1 });
      expect(over.stderr).toMatch(/holds data of a server already[\s\S]*--force/);
      const forced = await svc(['server', 'restore', file, '--data-dir', dataDir, '--force']);
      expect(forced).toMatchObject({ code: 1 });
      expect(forced.stderr).toContain(`A server runs in ${dataDir}`);
      expect(await svc(['server', 'down', '--data-dir', dataDir])).toMatchObject({ code: 0 });

      const run = await svc(['server', 'restore', file, '--data-dir', restored, '--json']);
      expect(run).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(run.stdout)).toMatchObject({
        hasKey: true,
        database: 'sqlite',
        missing: [],
        movedTo: [],
      });
      const after = await up(restored);
      expect(await (await after.volumes.get('notes')).read('/one')).toBe('in a volume');
      expect((await after.secrets.list()).items.map(({ name }) => name)).toEqual(['token']);
      const there = await after.sandboxes.connect(sandbox.id);
      expect(await there.files.read('/home/user/file')).toBe('kept');
      expect((await there.commands.run('pgrep -f ^lives')).exitCode).toBe(0);
    },
  );

  it('refuse what is no data of a server, no backup, or not whole, and leave the directory as it was', async () => {
    const nothing = await svc(['server', 'backup', join(home, 'b.tar'), '--data-dir', join(home, 'none')]);
    expect(nothing).toMatchObject({ code: 1 });
    if (able) expect(nothing.stderr).toContain('There is no data of a server');
    else expect(nothing.stderr).toContain('sudo');
    const file = join(home, 'bad.tar');
    await writeFile(file, 'x'.repeat(5_000));
    await truncate(file, 4_096);
    const bad = await svc(['server', 'restore', file, '--data-dir', join(home, 'new')]);
    expect(bad).toMatchObject({ code: 1 });
    if (able) expect(bad.stderr).toContain('is refused: it is no backup');
    expect((await svc(['server', 'restore', file, '--check'])).stderr).toContain(
      'is refused: it is no backup',
    );
    expect((await readdir(home)).sort()).toEqual(['bad.tar']);
  });
});

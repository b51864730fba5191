import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { addsStep, type Edit, makeVersion, packRelease } from '../support/releases.js';
import { cleanEnvironment } from '../support/run-cli.js';

const run = promisify(execFile);
const able =
  process.env.SVC_HEAVY === '1' && process.getuid?.() === 0 && linuxDriverCanRun(await checkHost({}));

const broken: Edit = {
  package: 'server',
  file: 'dist/process/start-server.js',
  find: 'await openListeners(',
  replace: "await Promise.reject(new Error('this version is broken')); await openListeners(",
};
/** Forgets every sandbox. */
const forgetful: Edit = {
  package: 'server',
  file: 'dist/sandboxes/recovery/recover.js',
  find: 'report[await settle(',
  replace: "report[await (async () => 'removed')(",
};
const KILLED = ['stopping', 'copying', 'installing', 'starting', 'checking'] as const;

/** Real releases, npm and sandboxes: ten minutes on a busy machine. Needs the npm registry for what the packages depend on. */
describe.skipIf(!able)(
  'svc server upgrade, of a server that npm installed for the machine',
  { timeout: 1_800_000 },
  () => {
    let home: string;
    let env: NodeJS.ProcessEnv;
    let running: string;
    let paused: string;
    const at = (...names: string[]) => join(home, ...names);
    const program = () => at('prefix/bin/svc');
    /** Never rejects: how a command ended. */
    const svc = async (...args: string[]) => {
      const ended = await run(program(), args, { env, timeout: 600_000 }).then(
        (out) => ({ code: 0, ...out }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
      const { code, stdout, stderr } = ended;
      if (args[1] === 'upgrade')
        console.log(`$ svc ${args.join(' ')}\n${stdout}${stderr}`.replaceAll(home, ''));
      return { code, stdout, stderr };
    };
    const version = async () => JSON.parse((await svc('server', 'version', '--json')).stdout).version;
    const serves = async () => JSON.parse((await svc('server', 'status', '--json')).stdout).version;
    const count = async (id: string) =>
      Number((await svc('sandbox', 'exec', id, '--', 'cat', '/home/user/count')).stdout);
    const journal = () => at('data/upgrade/journal.json');
    const step = () => (existsSync(journal()) ? JSON.parse(readFileSync(journal(), 'utf8')).step : undefined);
    const isClean = async () => {
      expect(await readdir(at('data'))).not.toContain('upgrade');
      expect(await readdir(at('prefix/lib/node_modules'))).toEqual(['@svc']);
    };

    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'svc-upgrade-'));
      await chmod(home, 0o755);
      const cache = (await run('npm', ['config', 'get', 'cache'], { cwd: '/' })).stdout.trim();
      env = cleanEnvironment({
        HOME: home,
        SVC_DATA_DIR: at('data'),
        SVC_BASE_ROOT: 'host',
        npm_config_cache: cache,
        npm_config_prefer_offline: 'true',
      });
      await packRelease(at('0.1.0'));
      const steps = KILLED.map((_, index) => addsStep(`99${index}-probe`));
      for (const [index] of KILLED.entries())
        await makeVersion(at('0.1.0'), at(`0.${index + 2}.0`), `0.${index + 2}.0`, steps.slice(0, index + 1));
      await makeVersion(at('0.1.0'), at('broken'), '0.1.1', [addsStep('980-broken'), broken]);
      await makeVersion(at('0.1.0'), at('forgetful'), '0.1.2', [addsStep('981-forgetful'), forgetful]);
      const tarballs = (await readdir(at('0.1.0')))
        .filter((name) => name.endsWith('.tgz'))
        .map((name) => at('0.1.0', name));
      await run(
        'npm',
        ['install', '--global', '--prefix', at('prefix'), '--no-audit', '--no-fund', ...tarballs],
        { env },
      );

      const ports = ['--port', '0', '--sandbox-port', '0', '--operator-port', '0'];
      expect(await svc('server', 'up', '--detach', '--no-trial-start', ...ports)).toMatchObject({ code: 0 });
      const create = async () => (await svc('sandbox', 'create', '-q', '--timeout', '10h')).stdout.trim();
      const counts = 'i=0; while :; do i=$((i+1)); echo $i > /home/user/count; sleep 1; done';
      [running, paused] = [await create(), await create()];
      for (const id of [running, paused])
        await svc('sandbox', 'exec', id, '--', 'sh', '-c', `nohup sh -c '${counts}' >/dev/null 2>&1 &`);
      await eventually('both to count', async () => (await count(running)) > 0 && (await count(paused)) > 0);
      expect(await svc('sandbox', 'pause', paused)).toMatchObject({ code: 0 });
    }, 900_000);
    afterAll(async () => {
      if (home === undefined) return;
      await svc('server', 'uninstall', '--yes');
      await rm(home, { recursive: true, force: true });
    });

    it('shows what it would do, and refuses what cannot be, without touching anything', async () => {
      const check = await svc('server', 'upgrade', '--to', at('0.2.0'), '--check', '--json');
      expect(JSON.parse(check.stdout)).toMatchObject({
        from: '0.1.0',
        to: '0.2.0',
        schema: ['990-probe'],
        canBeUndone: true,
        sandboxes: { running: 1, paused: 1 },
      });
      expect((await svc('server', 'upgrade', '--to', at('0.1.0'))).stderr).toContain('is installed already');
      await writeFile(at('0.3.0/extra'), '');
      const sums = await readFile(at('0.3.0/SHA256SUMS'), 'utf8');
      await writeFile(
        at('0.3.0/SHA256SUMS'),
        sums.replace(/^[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0')),
      );
      expect((await svc('server', 'upgrade', '--to', at('0.3.0'))).stderr).toContain(
        'is not what SHA256SUMS says',
      );
      await writeFile(at('0.3.0/SHA256SUMS'), sums);
      expect((await svc('server', 'upgrade', '--to', at('none'))).stderr).toContain(
        'is nothing that this installation',
      );
      await isClean();
      expect(await serves()).toBe('0.1.0');
    });

    it.for([
      ['broken', 'this version is broken'],
      ['forgetful', 'found 0 of 2 sandboxes'],
    ] as const)(
      'comes back from a version that is %s, with the database from before',
      async ([name, why]) => {
        const before = await count(running);
        const upgrade = await svc('server', 'upgrade', '--to', at(name));
        expect(upgrade).toMatchObject({ code: 1 });
        expect(upgrade.stderr).toContain(why);
        expect(upgrade.stderr).toContain('0.1.0 is up again');
        expect([await version(), await serves()]).toEqual(['0.1.0', '0.1.0']);
        expect(await count(running)).toBeGreaterThan(before);
        await isClean();
      },
    );

    it.for(KILLED.map((name, index) => [name, `0.${index + 2}.0`] as const))(
      'killed while %s, continues when it is run again',
      async ([name, to]) => {
        const before = await count(running);
        const child = spawn(program(), ['server', 'upgrade', '--to', at(to)], { env, stdio: 'ignore' });
        const ended = once(child, 'exit');
        await eventually(
          `the upgrade to be ${name}`,
          () => {
            if (child.exitCode !== null)
              throw new Error(`the upgrade ended with ${child.exitCode} before it was ${name}`);
            return step() === name;
          },
          600_000,
        );
        child.kill('SIGKILL');
        await ended;
        expect(await svc('server', 'upgrade', '--check')).toMatchObject({ code: 1 });
        const again = await svc('server', 'upgrade');
        expect(again).toMatchObject({ code: 0 });
        expect(again.stderr).toContain('broke off');
        expect([await version(), await serves()]).toEqual([to, to]);
        expect(await count(running)).toBeGreaterThan(before);
        await isClean();
      },
    );

    it('leaves paused sandboxes their memory', async () => {
      expect(await svc('sandbox', 'resume', paused)).toMatchObject({ code: 0 });
      const first = await count(paused);
      expect(first).toBeGreaterThan(0);
      await eventually('its program to count on', async () => (await count(paused)) > first);
    });
  },
);

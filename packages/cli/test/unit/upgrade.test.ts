import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processStart } from '#support/process-identity';
import { backgroundServer } from '../../src/commands/server/upgrade/background-server.js';
import { compareVersions } from '../../src/commands/server/upgrade/compare-versions.js';
import { noServer } from '../../src/commands/server/upgrade/control.js';
import { controlOf } from '../../src/commands/server/upgrade/deb-package.js';
import { exchange } from '../../src/commands/server/upgrade/exchange.js';
import { findInstallation } from '../../src/commands/server/upgrade/installation.js';
import {
  type Journal,
  newJournal,
  readJournal,
  steps,
  upgradeDirectory,
  writeJournal,
} from '../../src/commands/server/upgrade/journal.js';
import { npmSpecs } from '../../src/commands/server/upgrade/npm.js';
import {
  type Outcome,
  performUpgrade,
  type UpgradeParts,
} from '../../src/commands/server/upgrade/perform.js';
import { expectedAt, judgeFound, planUpgrade, roomNeeded } from '../../src/commands/server/upgrade/plan.js';
import {
  addressesOf,
  findSystemd,
  type Systemd,
  systemdServer,
} from '../../src/commands/server/upgrade/systemd-server.js';
import { findHolder } from '../../src/connection/lock-holder.js';

let directory: string;
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'svc-upgrade-unit-')));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A machine as far as an upgrade sees it. What is in it outlives the command. */
class Machine {
  installed = 'old';
  database = 'old';
  copy: string | undefined;
  running: string | undefined = 'old';
  journal: Journal = newJournal({
    from: 'old',
    to: 'new',
    installation: { kind: 'deb' },
    control: { kind: 'none' },
    isSeparate: true,
  });
  /** Runs before a step does its work; the step fails where this does. */
  before: (step: string) => Promise<void> | void = () => undefined;
  /** And after it. */
  after: (step: string) => Promise<void> | void = () => undefined;

  run(): Promise<Outcome> {
    const act = async (step: string, work: () => void) => {
      await this.before(step);
      work();
      await this.after(step);
    };
    const parts: UpgradeParts = {
      control: {
        what: 'a machine of tests',
        isRunning: async () => this.running !== undefined,
        stop: () => act('stop', () => (this.running = undefined)),
        start: async () => {
          await act(`start ${this.installed}`, () => {
            if (this.installed === 'old' && this.database === 'new') throw new Error('its schema is newer');
            this.database = this.installed;
            this.running = this.installed;
          });
          return { apiUrl: 'http://127.0.0.1:1' };
        },
      },
      installer: {
        install: (to) => act('install', () => (this.installed = to)),
        revert: (from) => act('revert', () => (this.installed = from)),
      },
      database: {
        copy: () =>
          act('copy', () => {
            expect(this.running).toBeUndefined();
            this.copy = this.database;
          }),
        putBack: () => act('put back', () => (this.database = this.copy ?? this.database)),
      },
      check: async () => {
        await act('check', () => undefined);
        return undefined;
      },
      record: async (journal) => {
        this.journal = journal;
      },
      report: () => undefined,
    };
    return performUpgrade(this.journal, parts);
  }

  /** Lets the command die at a moment: what it waits for never comes. */
  async runUntil(moment: 'before' | 'after', step: string): Promise<void> {
    const died = new Promise<void>((resolve) => {
      this[moment] = (at) => {
        if (at !== step) return;
        resolve();
        return new Promise(() => undefined);
      };
    });
    await Promise.race([died, this.run().then(() => Promise.reject(new Error(`it never came to ${step}`)))]);
    this.before = this.after = () => undefined;
  }

  get state() {
    const { installed, database, running } = this;
    return { installed, database, running };
  }
}

const all = (version: string) => ({ installed: version, database: version, running: version });
const WORK = ['stop', 'copy', 'install', 'start new', 'check'];

describe('an upgrade', () => {
  it('stops, copies, installs, starts and checks, and keeps where it is before each', async () => {
    const machine = new Machine();
    const seen: string[] = [];
    machine.before = (step) => void seen.push(`${machine.journal.step}: ${step}`);
    expect(await machine.run()).toMatchObject({ kind: 'upgraded' });
    expect(seen).toEqual(WORK.map((step, index) => `${steps[index]}: ${step}`));
    expect(machine.state).toEqual(all('new'));
  });

  it.each(WORK)('goes back where %s fails, with the database from before', async (failing) => {
    for (const moment of ['before', 'after'] as const) {
      const machine = new Machine();
      let failed = false;
      machine[moment] = (step) => {
        if (step !== failing || failed) return;
        failed = true;
        throw new Error('no room');
      };
      expect(await machine.run()).toEqual({ kind: 'restored', why: 'no room.' });
      expect(machine.state).toEqual(all('old'));
    }
  });

  it.each(WORK)('continues after it was killed at: %s', async (step) => {
    for (const moment of ['before', 'after'] as const) {
      const machine = new Machine();
      await machine.runUntil(moment, step);
      expect(await machine.run()).toMatchObject({ kind: 'upgraded' });
      expect(machine.state).toEqual(all('new'));
    }
  });

  it.each(['stop', 'revert', 'put back', 'start old'])(
    'continues going back after it was killed at: %s',
    async (step) => {
      for (const moment of ['before', 'after'] as const) {
        const machine = new Machine();
        machine.before = (at) => {
          if (at === 'check') throw new Error('it is broken');
        };
        const check = machine.before;
        // The first stop is that of the old version.
        let stops = 0;
        const died = new Promise<void>((resolve) => {
          machine[moment] = async (at) => {
            if (moment === 'before') await check(at);
            if (at === 'stop' && ++stops === 1) return;
            if (at !== step) return;
            resolve();
            await new Promise(() => undefined);
          };
        });
        await Promise.race([died, machine.run()]);
        expect(machine.journal).toMatchObject({ step: 'restoring', why: 'it is broken.' });
        machine.before = machine.after = () => undefined;
        expect(await machine.run()).toEqual({ kind: 'restored', why: 'it is broken.' });
        expect(machine.state).toEqual(all('old'));
      }
    },
  );

  it('copies the database again after it was killed before the new version was started', async () => {
    const machine = new Machine();
    await machine.runUntil('after', 'copy');
    // Somebody starts the old version meanwhile, and it is used.
    machine.running = 'old';
    machine.database = 'used';
    await machine.runUntil('after', 'copy');
    expect(machine.copy).toBe('used');
  });

  it('throws away nothing of a new version that served after the command was killed', async () => {
    const machine = new Machine();
    await machine.runUntil('after', 'start new');
    machine.database = 'used';
    machine.before = (step) => {
      throw new Error(`${step} was not to be done`);
    };
    expect(await machine.run()).toMatchObject({ kind: 'upgraded' });
    expect(machine.database).toBe('used');

    const stopped = new Machine();
    await stopped.runUntil('after', 'check');
    Object.assign(stopped, { running: undefined, database: 'used' });
    stopped.before = () => {
      throw new Error('its port is taken');
    };
    await expect(stopped.run()).rejects.toThrow('its port is taken');
    expect(stopped.state).toMatchObject({ installed: 'new', database: 'used' });
  });

  it('keeps what is to be done where the version before does not come up either', async () => {
    const machine = new Machine();
    machine.before = (step) => {
      if (step.startsWith('start')) throw new Error('the port is taken');
    };
    await expect(machine.run()).rejects.toThrow('the port is taken');
    expect(machine.journal.step).toBe('restoring');
    machine.before = () => undefined;
    expect(await machine.run()).toMatchObject({ kind: 'restored' });
    expect(machine.state).toEqual(all('old'));
  });
});

describe('the journal', () => {
  it('is read as it was written, by its owner alone, and one of another format is refused', async () => {
    const journal = new Machine().journal;
    expect(await readJournal(directory)).toBeUndefined();
    await writeJournal(directory, journal);
    expect(await readJournal(directory)).toEqual(journal);
    const { journal: file } = upgradeDirectory(directory);
    await writeFile(file, JSON.stringify({ ...journal, format: 2 }));
    await expect(readJournal(directory)).rejects.toThrow(
      'from old to new broke off, and this version cannot continue',
    );
  });
});

describe('the plan', () => {
  const database = (migrations: string[]) => ({
    migrations,
    checkpoints: [],
    layers: [],
    sizeBytes: 1_000,
    sandboxes: [
      { state: 'running', endAt: 100 },
      { state: 'running', endAt: 300 },
      { state: 'paused', endAt: 0 },
      { state: 'killing', endAt: 300 },
    ],
  });
  const to = { version: '0.2.0', schema: ['001', '002', '003'] };
  const stored = { database: database(['001', '002']), freeBytes: roomNeeded(1_000) };

  it('names the steps of the schema and what continues', () => {
    expect(planUpgrade({ from: '0.1.0', to, stored, runs: true })).toEqual({
      from: '0.1.0',
      to: '0.2.0',
      schema: ['003'],
      canBeUndone: true,
      sandboxes: { running: 2, paused: 1 },
    });
    expect(
      planUpgrade({ from: '0.1.0', to, stored: { database: undefined, freeBytes: 0 }, runs: true }),
    ).toMatchObject({
      schema: undefined,
      canBeUndone: false,
    });
  });

  it.each([
    ['0.3.0', stored, '0.2.0 is older than 0.3.0'],
    ['0.2.0', stored, '0.2.0 is installed already'],
    [
      '0.1.0',
      { ...stored, database: database(['001', '009-later']) },
      'The database is newer than 0.2.0: it has 009-later.',
    ],
    ['0.1.0', { ...stored, freeBytes: roomNeeded(1_000) - 1 }, 'There is no room for copies of the database'],
  ])('refuses from %s what cannot be: %#', (from, found, why) => {
    expect(() => planUpgrade({ from, to, stored: found, runs: true })).toThrow(why);
  });

  it('expects the sandboxes whose time is not over, and bears with one that ended by itself', () => {
    const { sandboxes } = database([]);
    expect([expectedAt(0, sandboxes), expectedAt(200, sandboxes), expectedAt(400, sandboxes)]).toEqual([
      3, 2, 1,
    ]);
    expect([judgeFound(0, 0), judgeFound(2, 1), judgeFound(3, 4)]).toEqual([undefined, undefined, undefined]);
    expect(judgeFound(3, 1)).toContain('found 1 of 3');
    expect(judgeFound(1, 0)).toContain('found 0 of 1');
  });

  it.each([
    ['0.1.0', '0.1.0', 0],
    ['0.1.0', '0.1.0+build', 0],
    ['0.9.0', '0.10.0', -1],
    ['1.0.0', '0.10.9', 1],
    ['1.0.0-beta.2', '1.0.0', -1],
    ['1.0.0-beta.2', '1.0.0-beta.10', -1],
    ['1.0.0-beta', '1.0.0-beta.1', -1],
    ['1.0.0-1', '1.0.0-alpha', -1],
    ['1.0.0-rc-1', '1.0.0-beta', 1],
  ])('orders %s and %s', (a, b, order) => {
    expect(Math.sign(compareVersions(a, b))).toBe(order);
    expect(Math.sign(compareVersions(b, a))).toBe(order === 0 ? 0 : -order);
  });
});

describe('the installation', () => {
  /** Makes a program below `modules`, and gives its file. */
  async function programIn(...modules: string[]): Promise<string> {
    const file = join(directory, ...modules, 'node_modules/@svc/cli/bin/svc.js');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '');
    return file;
  }

  it('is found by where the program lies, through links', async () => {
    const file = await programIn('prefix', 'lib');
    await mkdir(join(directory, 'prefix/bin'));
    await symlink('../lib/node_modules/@svc/cli/bin/svc.js', join(directory, 'prefix/bin/svc'));
    const found = {
      kind: 'npm-global',
      prefix: join(directory, 'prefix'),
      scope: dirname(dirname(dirname(file))),
    };
    expect(await findInstallation(file)).toEqual(found);
    expect(await findInstallation(join(directory, 'prefix/bin/svc'))).toEqual(found);

    const inProject = await programIn('project');
    await writeFile(join(directory, 'project/package.json'), '{ "dependencies": { "@svc/cli": "^0.1.0" } }');
    expect(await findInstallation(inProject)).toEqual({
      kind: 'npm-project',
      directory: join(directory, 'project'),
    });
  });

  it('is refused where nothing says how it came there', async () => {
    const file = await programIn('copied');
    await expect(findInstallation(file)).rejects.toThrow(
      'was not installed in a way that this command knows',
    );
    await writeFile(join(directory, 'copied/package.json'), '{ "dependencies": {} }');
    await expect(findInstallation(file)).rejects.toThrow('was not installed');
    await writeFile(join(directory, 'main.ts'), '');
    await expect(findInstallation(join(directory, 'main.ts'))).rejects.toThrow('was not installed');
  });

  it.each(['--help', '-g', 'file:../x', 'git+ssh://host/x', 'http://host/x.tgz', '../x', '', '0.2.0 extra'])(
    'hands npm no %j as a version',
    async (target) => {
      await expect(npmSpecs(target, ['@svc/cli'], directory)).rejects.toThrow(
        'is nothing that this installation can be',
      );
    },
  );

  it('takes versions, and of a release only what its checksums say', async () => {
    expect(await npmSpecs('0.2.0-beta.1', ['@svc/cli', '@svc/server'], undefined)).toEqual([
      '@svc/cli@0.2.0-beta.1',
      '@svc/server@0.2.0-beta.1',
    ]);
    const release = join(directory, 'release');
    const refused = (why: string) =>
      expect(npmSpecs(release, [], join(directory, 'copy'))).rejects.toThrow(why);
    await mkdir(release);
    await refused('it has no SHA256SUMS');
    await writeFile(join(release, 'SHA256SUMS'), `${'0'.repeat(64)}  a.tgz\n`);
    await refused('it has no packages');
    await writeFile(join(release, 'a.tgz'), 'changed');
    await refused('a.tgz is not what SHA256SUMS says');
    await expect(npmSpecs(release, [], undefined)).rejects.toThrow('is nothing that');
  });

  it('changes places in one step', async () => {
    for (const name of ['a', 'b']) await mkdir(join(directory, name, `of-${name}`), { recursive: true });
    await exchange(join(directory, 'a'), join(directory, 'b'));
    expect([await readdir(join(directory, 'a')), await readdir(join(directory, 'b'))]).toEqual([
      ['of-b'],
      ['of-a'],
    ]);
    await expect(exchange(join(directory, 'a'), join(directory, 'none'))).rejects.toMatchObject({
      hint: expect.stringContaining('No such file'),
    });
  });

  it('makes of what dpkg knows the fields of a package', () => {
    const status = [
      'Package: svc',
      'Status: install ok installed',
      'Version: 0.1.0',
      'Conffiles:',
      ' /etc/svc/server.env 0123',
      'Description: sandboxes',
      ' for code',
      '',
    ].join('\n');
    expect(controlOf(status)).toBe('Package: svc\nVersion: 0.1.0\nDescription: sandboxes\n for code\n');
  });
});

describe('a server of systemd', () => {
  /** Answers as systemctl does, and keeps what it was asked. */
  function fake(options: { pid?: number; active?: string; dataDir?: string; isReady?: boolean } = {}) {
    const { pid = 7, active = 'active', dataDir = '/var/lib/svc', isReady = true } = options;
    const asked: string[] = [];
    const systemd: Systemd = {
      async systemctl(...words) {
        asked.push(words.join(' '));
        return words[0] === 'show' ? `ActiveState=${active}\nMainPID=${pid}\n` : '';
      },
      environmentOf: async (of) => ({ SVC_PID: String(of) }),
      loadOptions: async () => ({ dataDir, host: '0.0.0.0', apiPort: 4000 }),
      async waitUntilReady(_apiUrl, isUp) {
        if (!isReady || !(await isUp())) throw new Error('The server ended instead of getting up.');
      },
    };
    return { systemd, asked };
  }
  const record = {
    kind: 'systemd',
    apiUrl: 'http://127.0.0.1:4000',
    operatorUrl: 'http://127.0.0.1:3003',
  } as const;

  it('is found by its unit, when that serves this data directory', async () => {
    expect(await findSystemd('/var/lib/svc', fake().systemd)).toEqual(record);
    expect(await findSystemd('/var/lib/svc', fake({ pid: 0 }).systemd)).toBeUndefined();
    expect(await findSystemd('/srv/other', fake().systemd)).toBeUndefined();
  });

  it('is stopped and started with both units, after systemd has read the new ones', async () => {
    const { systemd, asked } = fake();
    const server = systemdServer(record, systemd);
    expect(await server.isRunning()).toBe(true);
    asked.length = 0;
    await server.stop();
    expect(await server.start()).toEqual({ apiUrl: record.apiUrl, operatorUrl: record.operatorUrl });
    expect(asked.filter((line) => !line.startsWith('show'))).toEqual([
      'stop svc.service svc-runtime.service',
      'daemon-reload',
      'reset-failed svc.service svc-runtime.service',
      'start svc-runtime.service svc.service',
    ]);
  });

  it('says where to look when it does not come up', async () => {
    const { systemd } = fake({ active: 'failed' });
    const server = systemdServer(record, systemd);
    expect(await server.isRunning()).toBe(false);
    await expect(server.start()).rejects.toMatchObject({
      message: 'The server ended instead of getting up.',
      hint: expect.stringContaining('journalctl -u svc.service'),
    });
  });

  it.each([
    [{}, { apiUrl: 'http://127.0.0.1:3000', operatorUrl: 'http://127.0.0.1:3003' }],
    [{ host: '::', operatorPort: false as const }, { apiUrl: 'http://127.0.0.1:3000' }],
    [
      { host: '10.0.0.5', apiPort: 1 },
      { apiUrl: 'http://10.0.0.5:1', operatorUrl: 'http://10.0.0.5:3003' },
    ],
    [
      { host: '::1', tls: { certificate: '/c', key: '/k' } },
      { apiUrl: 'https://[::1]:3000', operatorUrl: 'http://[::1]:3003' },
    ],
  ])('is asked where it listens: %j', (options, addresses) => {
    expect(addressesOf(options)).toEqual(addresses);
  });
});

describe.skipIf(process.getuid?.() !== 0)('a server in the background', () => {
  it('is waited for while a command that was killed before still starts it', async () => {
    const file = join(directory, 'svc.mjs');
    await writeFile(file, "console.log('starts'); process.stdin.on('end', () => process.exit()).resume();");
    const program = { node: process.execPath, file };
    const record = { kind: 'background' as const, arguments: ['server', 'up'], environment: {}, directory };
    const server = backgroundServer(record, { dataDir: directory, isSeparate: true, program });
    const start = spawn(program.node, [file, ...record.arguments, '--detach', '--json']);
    await once(start.stdout, 'data');
    const looked = server.isRunning().then((runs) => ({ runs, left: processStart(start.pid!) }));
    start.stdin.end();
    expect(await looked).toEqual({ runs: false, left: undefined });
  });
});

describe('the process to stop', () => {
  it('is named by the lock of the process of root, not by what the server wrote', async () => {
    await mkdir(join(directory, 'driver'));
    await mkdir(join(directory, 'server'));
    await writeFile(join(directory, 'server/running.json'), JSON.stringify({ pid: 1, processStart: '0' }));
    await writeFile(join(directory, 'server/server.lock'), JSON.stringify({ pid: 1, start: '0' }));
    expect(await findHolder(directory, true)).toBeUndefined();
    const stat = await readFile('/proc/self/stat', 'latin1');
    const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
    await writeFile(join(directory, 'driver/driver.lock'), JSON.stringify({ pid: process.pid, start }));
    expect(await findHolder(directory, true)).toEqual({ pid: process.pid, start });
    await writeFile(
      join(directory, 'driver/driver.lock'),
      JSON.stringify({ pid: process.pid, start: 'of another' }),
    );
    expect(await findHolder(directory, true)).toBeUndefined();
  });

  it('is none where no server runs', async () => {
    expect([await noServer.isRunning(), await noServer.start()]).toEqual([false, undefined]);
  });
});

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DriverError } from '../../src/contract.js';
import { chooseIoWeights, type HostFacts, parseCgroupControllers } from '../../src/host/host-facts.js';
import { judgeHost } from '../../src/host/judge-host.js';
import { compareVersions } from '../../src/host/programs.js';
import { checkHost, type Finding, fixHost, linuxDriverCanRun, selectDriver } from '../../src/host.js';
import { explain } from '../../src/select-driver.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason } from '../support/linux-host.js';

const ABLE: HostFacts = {
  platform: 'linux',
  root: true,
  programs: {
    nft: '/usr/sbin/nft',
    ip: '/usr/sbin/ip',
    nsenter: '/usr/bin/nsenter',
    setpriv: '/usr/bin/setpriv',
    unshare: '/usr/bin/unshare',
    mount: '/usr/bin/mount',
    tar: '/usr/bin/tar',
    timeout: '/usr/bin/timeout',
    'mkfs.btrfs': '/usr/sbin/mkfs.btrfs',
    crun: '/usr/bin/crun',
    skopeo: '/usr/bin/skopeo',
    mmdebstrap: '/usr/bin/mmdebstrap',
  },
  namespaces: true,
  userNamespaces: true,
  overlay: true,
  ownIds: true,
  btrfs: true,
  cgroupControllers: ['cpu', 'memory', 'pids', 'freezer'],
  limits: [
    { name: 'fs.pipe-user-pages-soft', value: 1_048_576, atLeast: 1_048_576, enough: true, writable: true },
    { name: 'fs.inotify.max_user_instances', value: 128, atLeast: 2 ** 28, enough: false, writable: true },
  ],
  isolation: 'container',
  runscVersion: undefined,
  runscDirectory: '/var/lib/svc/runsc',
  ociRuntime: 'runc',
  ociRuntimePath: '/usr/sbin/runc',
  criuVersion: '4.2.1',
  criuDirectory: '/var/lib/svc/criu',
  baseRoot: 'debian',
  base: {
    name: 'trixie-000000000000-000000000000',
    tree: '/var/lib/svc/base/trixie-000000000000-000000000000/root',
    sizeBytes: 7e8,
    buildSeconds: 60,
    upToDate: true,
  },
  freeDiskBytes: 10 * 2 ** 30,
  ioWeights: 'bfq',
};

describe('what schedules disks by weight', () => {
  it.each([
    [['none [mq-deadline] kyber bfq\n', 'none\n'], '', undefined],
    [['none\n', 'mq-deadline kyber [bfq] none\n'], '', 'bfq'],
    [['[none] mq-deadline\n'], '8:0 enable=0 ctrl=auto\n', undefined],
    [['[none] mq-deadline\n'], '8:0 enable=0\n8:16 enable=1 ctrl=user\n', 'io.cost'],
  ] as const)('of %j and %j is %s', (schedulers, cost, expected) => {
    expect(chooseIoWeights(schedulers, cost)).toBe(expected);
  });
});

describe('judging a host', () => {
  it('finds nothing wrong with one that has everything', () => {
    expect(judgeHost(ABLE).filter(({ ok }) => !ok)).toEqual([]);
  });

  it('says which limits of the kernel the server raises', () => {
    const messages = judgeHost(ABLE).map(({ message }) => message);
    expect(messages).toContain('fs.pipe-user-pages-soft is 1048576.');
    expect(messages).toContain('fs.inotify.max_user_instances is 128; the server raises it to 268435456.');
  });

  it.each([
    ['no root', { root: false }, 'root', false],
    ['no runtime', { ociRuntimePath: undefined }, 'oci-runtime', false],
    ['no nft', { programs: { ...ABLE.programs, nft: undefined } as never }, 'nft', false],
    ['no overlay', { overlay: false }, 'overlayfs', false],
    ['no mounts with other ids', { ownIds: false }, 'own-ids', true],
    ['no pids controller', { cgroupControllers: ['cpu', 'memory', 'freezer'] }, 'cgroups', false],
    ['an old CRIU', { criuVersion: '4.1.1' }, 'criu', true],
    ['no CRIU', { criuVersion: undefined }, 'criu', true],
    [
      'no btrfs programs',
      { programs: { ...ABLE.programs, 'mkfs.btrfs': undefined } as never },
      'mkfs.btrfs',
      true,
    ],
    [
      'a limit that cannot be raised',
      { limits: [{ ...ABLE.limits[1], writable: false }] as never },
      'fs.inotify.max_user_instances',
      true,
    ],
    ['a full disk', { freeDiskBytes: 1000 }, 'free-disk', true],
    ['disks without weights', { ioWeights: undefined }, 'io-weights', true],
  ] as const)('names what is missing: %s', (_, change, id, canRun) => {
    const findings = judgeHost({ ...ABLE, ...change } as HostFacts);
    expect(findings.filter(({ ok }) => !ok).map((finding) => finding.id)).toEqual([id]);
    expect(linuxDriverCanRun(findings)).toBe(canRun);
  });

  it('gives the exact command', () => {
    const findings = judgeHost({ ...ABLE, ociRuntimePath: undefined });
    expect(explain(findings)).toContain('apt-get install -y --no-install-recommends runc');
    expect(explain(findings)).toContain('--driver process');
    expect(explain(findings)).toContain('NO ISOLATION');
  });

  it('says no at once on another system', () => {
    const findings = judgeHost({ ...ABLE, platform: 'darwin' });
    expect(linuxDriverCanRun(findings)).toBe(false);
  });

  it('compares versions by number', () => {
    expect(compareVersions('4.10', '4.9')).toBeGreaterThan(0);
    expect(compareVersions('4.2', '4.2.0')).toBe(0);
    expect(compareVersions('3.17.1', '4.2')).toBeLessThan(0);
  });

  it('finds controllers of both cgroup versions', () => {
    const v1 = '30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct';
    expect(parseCgroupControllers(v1, '')).toEqual(expect.arrayContaining(['cpu', 'cpuacct']));
    expect(parseCgroupControllers('', 'cpu memory pids\n')).toEqual(['cpu', 'memory', 'pids', 'freezer']);
  });
});

describe('this host', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'host-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  it('is judged without being changed', async () => {
    const findings = await checkHost({ dataDir });
    expect(findings.length).toBeGreaterThan(0);
    for (const { message } of findings) expect(message).toMatch(/\.$/);
    const plan: string[] = [];
    const after = await fixHost({ dataDir, install: false, log: (_, message) => plan.push(message) });
    // Not what they say: other programs fill the disk and raise limits meanwhile.
    const judged = (list: Finding[]) => list.map(({ id, ok, neededFor }) => ({ id, ok, neededFor }));
    expect(judged(after)).toEqual(judged(findings));
  });

  it('gives the process driver when it is asked for, with a warning', async () => {
    const lines: string[] = [];
    const { driver, why } = await selectDriver({
      preferred: 'process',
      dataDir,
      daemon: envdProgram,
      log: (level, message) => lines.push(`${level} ${message}`),
    });
    await driver.close();
    expect(driver.name).toBe('process');
    expect(driver.capabilities.isolation).toBe('none');
    expect(why).toContain('asked for');
    expect(lines.filter((line) => line.startsWith('warn') && line.includes('NO ISOLATION'))).toHaveLength(1);
  });

  it.each([
    ['process', 'gvisor', 'The driver process cannot give the isolation gvisor: it gives nothing.'],
    ['process', 'container', 'The driver process cannot give the isolation container: it gives nothing.'],
    ['incus', 'gvisor', 'The driver incus cannot give the isolation gvisor: it gives container.'],
  ] as const)(
    'starts no sandboxes of the driver %s for who asks for %s',
    async (preferred, isolation, message) => {
      const asked = selectDriver({ preferred, dataDir, daemon: envdProgram, linux: { isolation } });
      await expect(asked).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining(message),
      });
      expect(await readdir(dataDir)).toEqual([]);
    },
  );

  it('never falls back to the process driver silently', async () => {
    // A runtime that does not exist makes any host one that cannot.
    const options = { dataDir, daemon: envdProgram, linux: { ociRuntime: 'no-such-runtime' } };
    const refused = await selectDriver(options).catch((error: unknown) => error);
    expect(DriverError.is(refused) && refused.code).toBe('unsupported');
    expect(String(refused)).toContain('no-such-runtime is missing');
    const asked = await selectDriver({ ...options, preferred: 'linux', allowProcess: true }).catch(
      (e: unknown) => e,
    );
    expect(DriverError.is(asked) && asked.code).toBe('unsupported');
    const linux = { ...options.linux, isolation: 'container' as const };
    await expect(selectDriver({ ...options, linux, allowProcess: true })).rejects.toMatchObject({
      code: 'unsupported',
    });
    const { driver, why } = await selectDriver({ ...options, allowProcess: true });
    await driver.close();
    expect(driver.name).toBe('process');
    expect(why).toContain('no-such-runtime is missing');
  });

  it.skipIf(linuxSkipReason() !== undefined)(
    'refuses an OCI runtime that is there and starts nothing',
    async () => {
      const options = { dataDir, daemon: envdProgram, linux: { ociRuntime: '/bin/false', storeSizeMiB: 0 } };
      const refused = await selectDriver(options).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: 'unsupported',
        message: 'The OCI runtime /bin/false starts no sandbox: choose runc.',
      });
      // Nothing is left: another driver can have the data directory.
      const { driver, findings } = await selectDriver({ ...options, linux: { storeSizeMiB: 0 } });
      expect(findings.find(({ id }) => id === 'oci-runtime')).toMatchObject({ ok: true });
      await driver.close();
    },
  );
});

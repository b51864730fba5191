import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeVersion, packRelease } from '../support/releases.js';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../../', import.meta.url));
const able =
  process.env.SVC_HEAVY === '1' &&
  process.getuid?.() === 0 &&
  (await run('mmdebstrap', ['--version']).then(
    () => true,
    () => false,
  ));

/** The package's dependencies, so that all that an installation adds is the package itself. */
const NEEDED = 'libstdc++6,passwd,perl,util-linux,iproute2,nftables,procps';
/** Records that dpkg, apt and the dynamic linker keep of every package that comes and goes. */
const BOOKKEEPING = /^\/(proc|sys|dev|run|tmp|root)(\/|$)|^\/var\/(lib\/(dpkg|apt)|cache|log)\/|^\/etc\/.*-$/;

/** A clean Debian from the mirror of this machine, and packages of two versions: some minutes. */
describe.skipIf(!able)('the Debian package, in a clean root', { timeout: 1_800_000 }, () => {
  let work: string;
  let root: string;
  let before: string[];

  /** Runs a script in the root, with processes of its own. Never rejects: how it ended. */
  async function inRoot(script: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=KILL'];
    const enter = `mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; mount -t tmpfs run "$1/run"; exec chroot "$1" sh -c "$2"`;
    return run('unshare', [...namespaces, 'sh', '-ec', enter, 'sh', root, script], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', DEBIAN_FRONTEND: 'noninteractive' },
      maxBuffer: 2 ** 26,
    }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  }
  const install = (file: string) =>
    inRoot(
      `apt-get install --yes --no-install-recommends --option Dpkg::Options::=--force-confold ./${file}`,
    );
  const paths = async () =>
    (await inRoot('find / -xdev')).stdout
      .split('\n')
      .filter((path) => path !== '' && !BOOKKEEPING.test(path));

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'svc-deb-root-'));
    root = join(work, 'root');
    await packRelease(join(work, 'release'));
    await makeVersion(join(work, 'release'), join(work, 'newer'), '9.0.0');
    const found = join(repository, 'packages/runtime/assets/debian-mirror.sh');
    const { stdout } = await run('sh', ['-c', '. "$1"; debian_mirror debian', 'sh', found]);
    const mirror = stdout.trim() || 'http://deb.debian.org/debian';
    const source = `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} bookworm main`;
    const options = ['--mode=root', '--variant=minbase', `--include=${NEEDED},debian-archive-keyring`];
    await run('mmdebstrap', [...options, 'bookworm', root, source], { maxBuffer: 2 ** 26 });
    await copyFile('/etc/resolv.conf', join(root, 'etc/resolv.conf'));
    for (const name of ['release', 'newer']) {
      const pack = [join(repository, 'scripts/deb.mjs'), join(work, 'debs'), '--release', join(work, name)];
      const file = (await run(process.execPath, [...pack, '--compression', 'none'])).stdout.trim();
      await copyFile(file, join(root, `${name}.deb`));
    }
    before = await paths();
  }, 1_200_000);
  afterAll(() => rm(work, { recursive: true, force: true }));

  it('is not set up beside a user svc who is root by another name, and says so', async () => {
    const users = await readFile(join(root, 'etc/passwd'), 'utf8');
    await writeFile(join(root, 'etc/passwd'), `${users}svc:x:0:0::/root:/bin/sh\n`);
    const { code, stdout, stderr } = await install('release.deb');
    await writeFile(join(root, 'etc/passwd'), users);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain('the user svc of this machine has the rights of root (user id 0)');
    expect(await inRoot('dpkg --configure svc')).toMatchObject({ code: 0 });
    expect((await inRoot('getent passwd svc svc-egress')).stdout).toMatch(
      /^svc:x:[1-9]\d*:.*:\/nonexistent:\/usr\/sbin\/nologin\nsvc-egress:x:[1-9]\d*:.*nologin\n$/,
    );
  });

  it('brings a server that works, with no Node on the machine', async () => {
    expect((await inRoot('command -v node')).code).not.toBe(0);
    const work = await inRoot(`set -e
      export SVC_DATA_DIR=/tmp/data
      svc server up --detach --driver process --port 0 --sandbox-port 0 --operator-port 0 >/dev/null
      id=$(svc sandbox create -q)
      svc sandbox exec "$id" -- sh -c 'echo works in $SVC_SANDBOX_ID'
      svc sandbox kill "$id" >/dev/null
      svc server down >/dev/null
      echo "$id"
      rm -r /tmp/data`);
    expect(work).toMatchObject({ code: 0 });
    const [said, id] = work.stdout.trim().split('\n');
    expect(said).toBe(`works in ${id}`);
    // Settings that the package leaves to the machine are reported, not missed.
    expect((await inRoot('svc server doctor')).stdout).toContain('runc');
  });

  it('keeps what the operator set through an upgrade and a removal, and leaves nothing when it is purged', async () => {
    await inRoot('echo SVC_LOG_LEVEL=warn >> /etc/svc/server.env');
    expect(await install('newer.deb')).toMatchObject({ code: 0 });
    expect((await inRoot('svc --version')).stdout.trim()).toBe('9.0.0');
    expect(await inRoot('apt-get remove --yes svc')).toMatchObject({ code: 0 });
    expect((await inRoot('cat /etc/svc/server.env')).stdout).toContain('SVC_LOG_LEVEL=warn');
    expect((await inRoot('ls /usr/lib/svc /usr/lib/systemd/system/svc.service')).code).not.toBe(0);
    expect(await inRoot('apt-get purge --yes svc')).toMatchObject({ code: 0 });
    expect(await paths()).toEqual(before);
  });
});

import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const scripts = fileURLToPath(new URL('../../../../scripts/deb/', import.meta.url));

/** Runs the script beside a machine whose users and groups are lines of two files, and whose `systemctl` only takes notes. */
describe('the scripts of the Debian package', () => {
  let machine: string;
  const path = (name: string) => join(machine, name);
  const lines = async (name: string) =>
    (await readFile(path(name), 'utf8')).split('\n').filter((line) => line !== '');

  beforeEach(async () => {
    machine = await mkdtemp(join(tmpdir(), 'svc-deb-'));
    for (const name of ['passwd', 'group', 'asked']) await writeFile(path(name), '');
    const programs = {
      getent: `grep "^$2:" ${machine}/$1`,
      // The last word is the name.
      useradd: `echo "useradd $*" >> ${machine}/asked; for name; do :; done; n=$(wc -l < ${machine}/passwd); echo "$name:x:$((900 + n)):$((900 + n))::/nonexistent:/usr/sbin/nologin" >> ${machine}/passwd`,
      systemctl: `echo "systemctl $*" >> ${machine}/asked`,
    };
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(path(name), `#!/bin/sh\n${text}\n`);
      await chmod(path(name), 0o755);
    }
  });
  afterEach(() => rm(machine, { recursive: true, force: true }));

  function run(script: string, ...words: string[]) {
    const env = { PATH: `${machine}:/usr/bin:/bin` };
    return spawnSync('sh', [join(scripts, script), ...words], { env, encoding: 'utf8' });
  }

  it('make both users once, as users without a home, a login or a right', async () => {
    for (const _ of [1, 2])
      expect(run('postinst.sh', 'configure', '')).toMatchObject({ status: 0, stderr: '' });
    const made = (await lines('asked')).filter((line) => line.startsWith('useradd'));
    expect(made).toEqual(
      ['svc', 'svc-egress'].map(
        (name) =>
          `useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin ${name}`,
      ),
    );
  });

  it('take a group of that name that is empty, which useradd would not make again', async () => {
    await writeFile(path('group'), 'svc:x:950:\n');
    expect(run('postinst.sh', 'configure', '')).toMatchObject({ status: 0 });
    expect((await lines('asked'))[0]).toContain('--gid=svc ');
  });

  it.each([
    ['passwd', 'svc:x:0:0::/root:/bin/sh', 'the user svc of this machine has the rights of root'],
    [
      'passwd',
      'svc-egress:x:0:0::/root:/bin/sh',
      'the user svc-egress of this machine has the rights of root',
    ],
    ['passwd', 'svc:x:950:0::/home/svc:/bin/sh', 'the user svc of this machine is of the group of root'],
    ['passwd', 'svc:x:950:950::/:/bin/sh\nsvc-egress:x:950:950::/:/bin/sh', 'have one user id'],
    ['group', 'svc:x:950:somebody', 'the group svc of this machine has members'],
    ['group', 'svc:x:0:', 'the group svc of this machine is that of root'],
  ])('refuse to run the server as somebody who would have more rights: %s %s', async (file, entry, why) => {
    await writeFile(path(file), `${entry}\n`);
    const { status, stderr } = run('postinst.sh', 'configure', '');
    expect(status).toBe(1);
    expect(stderr).toContain(why);
    expect(stderr).toContain('dpkg --configure svc');
  });

  it('leave no links to units that are deleted, also where systemd does not run', async () => {
    expect(run('prerm.sh', 'remove')).toMatchObject({ status: 0 });
    expect(await lines('asked')).toEqual([
      expect.stringMatching(/^systemctl disable --quiet (--now )?svc\.service svc-runtime\.service$/),
    ]);
    await writeFile(path('asked'), '');
    expect(run('prerm.sh', 'upgrade', '0.2.0')).toMatchObject({ status: 0 });
    expect(await lines('asked')).toEqual([]);
  });
});

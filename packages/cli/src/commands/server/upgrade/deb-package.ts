import { existsSync, lstatSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../../../errors/cli-error.js';
import type { Installer, ProgramFile } from './installation.js';
import { runProgram } from './run-program.js';

const LIBRARY = 'usr/lib/svc';
const PACKAGE = 'svc';
/** Settings of the operator stay as they are; another dpkg, such as that of a command before that was killed, may end first. */
const APT = [
  ...['--yes', '--no-install-recommends', '--allow-downgrades', '--reinstall'],
  ...['-o', 'Dpkg::Options::=--force-confold', '-o', 'DPkg::Lock::Timeout=300'],
];
const unattended = () => ({ ...process.env, DEBIAN_FRONTEND: 'noninteractive' });

/**
 * Upgrades the Debian package. dpkg keeps no copy of what it replaces, so the installed package is packed again first.
 * @param work directory of root's
 */
export function debPackage(work: string): Installer {
  const files = { next: join(work, 'next.deb'), before: join(work, 'before.deb') };
  const programIn = (root: string): ProgramFile => ({
    node: join(root, LIBRARY, 'node'),
    file: join(root, LIBRARY, 'node_modules/@svc/cli/bin/svc.js'),
  });
  const put = async (file: string) => {
    if ((await installed()) === (await field(file, 'Version'))) return;
    await runProgram('apt-get', ['install', ...APT, file], { env: unattended() });
  };
  return {
    where: 'the Debian package svc',
    program: programIn('/'),
    async stage(target) {
      if (target === undefined)
        throw new CliError('Which package is to be installed?', {
          code: 'upgrade',
          hint: 'Name its file: svc server upgrade --to ./svc_VERSION_ARCHITECTURE.deb',
        });
      await rm(work, { recursive: true, force: true });
      await mkdir(work, { mode: 0o700 });
      // The copy that is inspected is the one that is installed, though others can write the file that was named.
      await copyFile(target, files.next).catch((error: NodeJS.ErrnoException) => {
        throw new CliError(`The package cannot be read: ${error.message}.`, { code: 'upgrade' });
      });
      const [name, architecture] = [
        await field(files.next, 'Package'),
        await field(files.next, 'Architecture'),
      ];
      const own = (await runProgram('dpkg', ['--print-architecture'])).trim();
      if (name !== PACKAGE || architecture !== own)
        throw new CliError(
          `${target} is the package ${name} for ${architecture}, not ${PACKAGE} for ${own}.`,
          {
            code: 'upgrade',
          },
        );
      await repack(join(work, 'before'), files.before);
      const tree = join(work, 'next');
      await runProgram('dpkg-deb', ['--extract', files.next, tree]);
      return programIn(tree);
    },
    install: () => put(files.next),
    revert: () => put(files.before),
    discard: () => rm(work, { recursive: true, force: true }),
  };
}

/** Version of the package, where it is installed as a whole. */
async function installed(): Promise<string | undefined> {
  const format = `--showformat=\${db:Status-Status} \${Version}`;
  const [status, version] = (await runProgram('dpkg-query', ['--show', format, PACKAGE])).split(' ');
  return status === 'installed' ? version : undefined;
}

async function field(file: string, name: string): Promise<string> {
  return (await runProgram('dpkg-deb', ['--field', file, name])).trim();
}

/** Makes a package of what is installed of it, with the settings as they are now. */
async function repack(root: string, file: string): Promise<void> {
  const query = (...args: string[]) => runProgram('dpkg-query', args);
  const lines = (text: string) => text.split('\n').filter((line) => line !== '');
  await mkdir(join(root, 'DEBIAN'), { recursive: true, mode: 0o755 });
  const paths = lines(await query('--listfiles', PACKAGE)).filter(
    (path) => path !== '/.' && existsSync(path),
  );
  for (const path of paths) {
    const copy = join(root, path);
    if (lstatSync(path).isDirectory()) await mkdir(copy, { recursive: true, mode: 0o755 });
    else await cp(path, copy, { verbatimSymlinks: true });
  }
  for (const name of lines(await query('--control-list', PACKAGE))) {
    const copy = join(root, 'DEBIAN', name);
    await copyFile((await query('--control-path', PACKAGE, name)).trim(), copy);
    await chmod(copy, 0o755);
  }
  const settings = join(root, 'DEBIAN/conffiles');
  if (existsSync(settings)) {
    const kept = lines(await readFile(settings, 'utf8')).filter((path) => existsSync(path));
    await writeFile(settings, kept.map((path) => `${path}\n`).join(''));
  }
  await writeFile(join(root, 'DEBIAN/control'), controlOf(await query('--status', PACKAGE)));
  await runProgram('dpkg-deb', ['--root-owner-group', '-Znone', '--build', root, file]);
  await rm(root, { recursive: true });
}

/** Returns dpkg's record of a package as the fields of one: without those of the installation. Pure. */
export function controlOf(status: string): string {
  const fields = status.trimEnd().split(/\n(?! )/);
  return `${fields.filter((text) => !/^(Status|Conffiles|Config-Version):/.test(text)).join('\n')}\n`;
}

import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliError } from '../../../errors/cli-error.js';
import { exchange, requireExchange } from './exchange.js';
import { type Installation, type Installer, PACKAGE, readManifest } from './installation.js';
import { npmInstall, npmSpecs } from './npm.js';

/** Beside the installed packages, in their file system; npm passes over names with a dot. */
const WORK = '.svc-upgrade';

/**
 * Upgrades `npm install --global`: npm installs into a prefix of its own, whose packages then change places with the installed
 * ones.
 */
export function npmGlobal({ prefix, scope }: Extract<Installation, { kind: 'npm-global' }>): Installer {
  const modules = dirname(scope);
  const work = join(modules, WORK);
  const staged = join(work, 'lib/node_modules', dirname(PACKAGE));
  const file = (directory: string) => join(directory, 'cli/bin/svc.js');
  const versionIn = (directory: string) => readManifest(join(directory, 'cli/package.json'))?.version;
  return {
    where: `npm, global, in ${modules}`,
    program: { node: process.execPath, file: file(scope) },
    async stage(target = 'latest') {
      await rm(work, { recursive: true, force: true });
      // Every user may read what is to be installed: the server's does.
      await mkdir(work, { mode: 0o755 });
      const installed = await readdir(scope);
      const names = installed.map((name) => `${dirname(PACKAGE)}/${name}`);
      const specs = await npmSpecs(target, names, join(work, 'release'));
      await npmInstall(work, ['--global', '--prefix', work, ...specs]);
      const lacking = installed.filter((name) => !existsSync(join(staged, name)));
      if (lacking.length > 0)
        throw new CliError(`The new version has no ${lacking.join(', ')}, which is installed.`, {
          code: 'upgrade',
          hint: `Remove what is not needed (npm uninstall --global ${dirname(PACKAGE)}/${lacking[0]}), or upgrade by hand.`,
        });
      await requireExchange(work);
      return { node: process.execPath, file: file(staged) };
    },
    async install(to) {
      if (versionIn(scope) !== to) await exchange(scope, staged);
      for (const name of await readdir(join(work, 'bin')))
        if (!existsSync(join(prefix, 'bin', name)))
          await cp(join(work, 'bin', name), join(prefix, 'bin', name), { verbatimSymlinks: true });
    },
    async revert(from) {
      if (versionIn(scope) !== from) await exchange(scope, staged);
    },
    discard: () => rm(work, { recursive: true, force: true }),
  };
}

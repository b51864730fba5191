import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeAtomically } from '#support/write-atomically';
import { CliError } from '../../../errors/cli-error.js';
import { exchange, requireExchange } from './exchange.js';
import { type Installation, type Installer, type Manifest, PACKAGE, readManifest } from './installation.js';
import { npmInstall, npmSpecs } from './npm.js';
import { runProgram } from './run-program.js';

const WORK = '.svc-upgrade';
/** Files that npm reads and writes of a project, beside `node_modules`. */
const MANIFESTS = ['package.json', 'package-lock.json'];

/**
 * Upgrades what is a dependency of a project: npm installs into a copy of the project, whose `node_modules` then changes places
 * with the project's.
 */
export function npmProject({ directory }: Extract<Installation, { kind: 'npm-project' }>): Installer {
  const work = join(directory, WORK);
  const before = join(work, 'before');
  const live = join(directory, 'node_modules');
  const staged = join(work, 'node_modules');
  const file = (modules: string) => join(modules, PACKAGE, 'bin/svc.js');
  const versionIn = (modules: string) => readManifest(join(modules, PACKAGE, 'package.json'))?.version;
  const writeManifests = async (from: string) => {
    for (const name of MANIFESTS)
      if (existsSync(join(from, name))) await writeKeepingOwner(join(directory, name), join(from, name));
  };
  return {
    where: `npm, in the project ${directory}`,
    program: { node: process.execPath, file: file(live) },
    async stage(target = 'latest') {
      const manifest = readManifest(join(directory, 'package.json')) ?? {};
      requireSimple(directory, manifest);
      await rm(work, { recursive: true, force: true });
      await mkdir(before, { recursive: true, mode: 0o755 });
      for (const name of [...MANIFESTS, '.npmrc'])
        if (existsSync(join(directory, name)))
          for (const to of [work, before]) await copyFile(join(directory, name), join(to, name));
      const ours = Object.keys(manifest.dependencies ?? {}).filter((name) =>
        name.startsWith(`${dirname(PACKAGE)}/`),
      );
      await npmInstall(work, await npmSpecs(target, ours, undefined));
      const { uid, gid } = await stat(directory);
      await runProgram('chown', ['--recursive', '--no-dereference', `${uid}:${gid}`, work]);
      await requireExchange(work);
      return { node: process.execPath, file: file(staged) };
    },
    async install(to) {
      if (versionIn(live) !== to) await exchange(live, staged);
      await writeManifests(work);
    },
    async revert(from) {
      if (versionIn(live) !== from) await exchange(live, staged);
      await writeManifests(before);
    },
    discard: () => rm(work, { recursive: true, force: true }),
  };
}

/** Refuses a project with files that a copy beside itself would not find. @throws {CliError} */
function requireSimple(directory: string, manifest: Manifest): void {
  const specs = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  const local = specs.find(([, spec]) => /^(file|link|workspace|portal):|^\.{0,2}\//.test(spec));
  const why =
    manifest.workspaces !== undefined
      ? 'it has workspaces'
      : local !== undefined
        ? `${local[0]} is a file or a directory (${local[1]})`
        : undefined;
  if (why === undefined) return;
  throw new CliError(`The project ${directory} cannot be upgraded by this command: ${why}.`, {
    code: 'upgrade',
    hint: `Stop the server (svc server down), npm install ${PACKAGE}@VERSION, and start it: docs/upgrading.md, by hand.`,
  });
}

/** For the owner of the project. */
async function writeKeepingOwner(file: string, from: string): Promise<void> {
  const { mode, uid, gid } = await stat(existsSync(file) ? file : from);
  await writeAtomically(file, await readFile(from, 'utf8'));
  await chown(file, uid, gid);
  await chmod(file, mode & 0o777);
}

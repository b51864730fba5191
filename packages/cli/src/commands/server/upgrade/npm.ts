import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CliError } from '../../../errors/cli-error.js';
import { runProgram } from './run-program.js';

const QUIET = ['--no-audit', '--no-fund', '--loglevel=error'];

/** Runs `npm install`, which ends with this process. */
export async function npmInstall(cwd: string, args: readonly string[]): Promise<void> {
  await runProgram('setpriv', ['--pdeathsig=KILL', '--', 'npm', 'install', ...QUIET, ...args], {
    cwd,
    what: 'npm install',
  });
}

/** A version, or a tag such as `latest`: nothing that npm would take for a file, an address or an option. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,99}$/;

/**
 * Returns the packages for npm to install: ours by version, or, of a directory that a release was put into, its files, which are copied and
 * checked against its list of checksums.
 * @param copyTo where copies go. Undefined: only versions are taken
 */
export async function npmSpecs(
  target: string,
  names: readonly string[],
  copyTo: string | undefined,
): Promise<string[]> {
  const found = await stat(target).catch(() => undefined);
  if (found?.isDirectory() === true && copyTo !== undefined) return copyRelease(target, copyTo);
  if (found !== undefined || !VERSION.test(target))
    throw new CliError(`${target} is nothing that this installation can be upgraded to.`, {
      code: 'upgrade',
      hint: `Name a version of the registry, such as 0.2.0${copyTo === undefined ? '' : ', or the directory of a release (scripts/release.mjs), with its SHA256SUMS'}.`,
    });
  return names.map((name) => `${name}@${target}`);
}

async function copyRelease(from: string, to: string): Promise<string[]> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const refuse = (why: string) =>
    new CliError(`The release in ${from} is refused: ${why}.`, {
      code: 'upgrade',
      hint: 'Nothing was changed. Take another copy of it.',
    });
  const list = await readFile(join(from, 'SHA256SUMS'), 'utf8').catch(() => {
    throw refuse('it has no SHA256SUMS');
  });
  const sums = new Map([...list.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)].map(([, sum, name]) => [name, sum]));
  const tarballs = (await readdir(from)).filter((name) => name.endsWith('.tgz'));
  if (tarballs.length === 0) throw refuse('it has no packages');
  for (const name of tarballs) {
    const copy = join(to, name);
    await copyFile(join(from, name), copy);
    const sum = createHash('sha256')
      .update(await readFile(copy))
      .digest('hex');
    if (sums.get(name) !== sum) throw refuse(`${name} is not what SHA256SUMS says`);
  }
  return tarballs.map((name) => resolve(to, name));
}

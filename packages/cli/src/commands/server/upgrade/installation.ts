import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../../../errors/cli-error.js';
import { runProgram } from './run-program.js';

/** The way in which the running program was installed. Part of the journal. */
export type Installation =
  /** `scope`: the directory of all our packages, which is replaced as a whole. */
  | { kind: 'npm-global'; prefix: string; scope: string }
  | { kind: 'npm-project'; directory: string }
  | { kind: 'deb' };

/** A program of the service: what runs it, and its file. */
export interface ProgramFile {
  node: string;
  file: string;
}

/** Replaces what is installed. Each step may be repeated, and finds out what is done already. */
export interface Installer {
  /** For people: what is installed, and where. */
  readonly where: string;
  /** The installed program, of any version. */
  readonly program: ProgramFile;
  /** Gets the new version beside the installed one, which stays as it is. @returns its program, to be asked */
  stage(target: string | undefined): Promise<ProgramFile>;
  /** Puts the staged version in the place of the installed one. */
  install(to: string): Promise<void>;
  /** Puts the version before back. */
  revert(from: string): Promise<void>;
  /** Removes what was staged, or kept of the version before. */
  discard(): Promise<void>;
}

export const PACKAGE = '@svc/cli';
const DEB_LIBRARY = '/usr/lib/svc/node_modules';

/** @param program file of the program that runs. @throws {CliError} for one that was installed otherwise */
export async function findInstallation(program: string): Promise<Installation> {
  const file = realpathSync(program);
  const end = `/node_modules/${PACKAGE}/bin/svc.js`;
  if (!file.endsWith(end)) throw unknown(file);
  const modules = join(file.slice(0, -end.length), 'node_modules');
  if (modules === DEB_LIBRARY) {
    const owner = await runProgram('dpkg-query', ['--search', file]).catch(() => '');
    if (owner.startsWith('svc:')) return { kind: 'deb' };
    throw unknown(file);
  }
  const directory = dirname(modules);
  const link = join(dirname(directory), 'bin', 'svc');
  if (basename(directory) === 'lib' && existsSync(link) && realpathSync(link) === file)
    return { kind: 'npm-global', prefix: dirname(directory), scope: join(modules, dirname(PACKAGE)) };
  const manifest = readManifest(join(directory, 'package.json'));
  if (manifest?.dependencies?.[PACKAGE] !== undefined) return { kind: 'npm-project', directory };
  throw unknown(file);
}

/** The fields of a `package.json` that are read. */
export interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  workspaces?: unknown;
}

/** Undefined where there is none, or it is no JSON. */
export function readManifest(file: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  } catch {
    return undefined;
  }
}

function unknown(file: string): CliError {
  return new CliError(`${file} was not installed in a way that this command knows.`, {
    code: 'upgrade',
    hint: 'It upgrades what `npm install --global`, `npm install` in a project (as a dependency of its package.json) or the Debian package put there. Otherwise: docs/upgrading.md, by hand.',
  });
}

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { runProgram } from '../shared/run-program.js';

/** Programs of this host by the names that their copies get. */
export type HostPrograms = ReadonlyMap<string, string>;

/** Loaded at run time by name, so `ldd` does not show them. */
const RUNTIME_LIBRARIES = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2'];
const IPS = ['/usr/bin/ip', '/usr/sbin/ip', '/bin/ip', '/sbin/ip'];

/** This Node, for what runs it where the host's files are not. */
export async function nodeProgram(): Promise<HostPrograms> {
  return new Map([['node', await realpath(process.execPath)]]);
}

/** `ip`, where this host has it. */
export async function ipProgram(): Promise<HostPrograms> {
  const path = IPS.find((candidate) => existsSync(candidate));
  return new Map(path === undefined ? [] : [['ip', await realpath(path)]]);
}

/** Words before a copied program: the dynamic loader beside it, as there may be none. @param directory of the copies. */
export function loaderOf(directory: string): string[] {
  return [`${directory}/lib/loader`, '--library-path', `${directory}/lib`];
}

/** Differs when a program does. */
export async function fingerprintOf(programs: HostPrograms): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  for (const [name, path] of programs) {
    const { size, mtimeMs } = await stat(path);
    hash.update(`${name}\0${path}\0${size}\0${mtimeMs}\0`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Copies programs to a directory, and what they load to `lib` below it. */
export async function copyHostPrograms(programs: HostPrograms, directory: string): Promise<void> {
  const target = join(directory, 'lib');
  await mkdir(target, { recursive: true });
  const found = new Map<string, string>();
  let loader: string | undefined;
  for (const [name, program] of programs) {
    await copyFile(program, join(directory, name));
    const { stdout } = await runProgram('ldd', [program], { timeoutMs: 20_000 });
    for (const line of stdout.split('\n')) {
      const library = /^\s*(\S+) => (\/\S+)/.exec(line);
      if (library !== null) found.set(library[1]!, library[2]!);
      const interpreter = /^\s*(\/\S*\/ld-\S+) \(/.exec(line) ?? /=> (\/\S*\/ld-\S+) \(/.exec(line);
      if (interpreter !== null) loader ??= interpreter[1]!;
    }
  }
  if (loader === undefined) {
    throw new DriverError('unsupported', 'The dynamic loader of the programs cannot be found.', {
      detail: `ldd ${[...programs.values()].join(' ')}`,
    });
  }
  const libc = found.get('libc.so.6');
  for (const name of RUNTIME_LIBRARIES) {
    const beside = libc === undefined ? undefined : join(libc, '..', name);
    if (beside !== undefined && existsSync(beside)) found.set(name, beside);
  }
  for (const [name, path] of found) await copyFile(path, join(target, name));
  await copyFile(loader, join(target, 'loader'));
  await copyFile(loader, join(target, basename(loader)));
  await chmod(join(target, 'loader'), 0o755);
  await runProgram('chmod', ['-R', 'a+rX', directory], { timeoutMs: 20_000 });
}

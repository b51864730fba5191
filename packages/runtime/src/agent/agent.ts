import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { DaemonProgram } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { runProgram } from '../shared/run-program.js';

/** The directory that appears as `/.sbx`: Node with its libraries, an init, and the daemon. Runs in any root file system. */
export interface Agent {
  /** Folder below `agents` in the store, named after its content. */
  name: string;
  /** Whether it has a real init; else the daemon itself is process 1 and orphans stay zombies. */
  init: boolean;
  /** Whether it has `hostname`, for kernels that only a program inside can name. */
  hostname: boolean;
  /** Whether it has `sh`, which is as small as a shell can be. */
  shell: boolean;
  /** Whether it has `ip`, for network cards that only a program inside can set up. Only where it was asked for. */
  ip: boolean;
}

/** Loaded at run time by name, so `ldd` does not show them. */
const RUNTIME_LIBRARIES = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2'];
const INITS = [
  '/usr/bin/tini-static',
  '/sbin/tini-static',
  '/sbin/docker-init',
  '/usr/libexec/docker/docker-init',
];

const HOSTNAMES = ['/usr/bin/hostname', '/bin/hostname'];
const SHELLS = ['/usr/bin/dash', '/bin/dash', '/usr/bin/sh', '/bin/sh'];
const IPS = ['/usr/bin/ip', '/usr/sbin/ip', '/bin/ip', '/sbin/ip'];

/**
 * Makes (or finds) the agent directory.
 * @param agents the store's `agents` folder as this process sees it.
 * @param options.ip whether it is to have `ip`, where this machine has it. Default false.
 */
export async function prepareAgent(
  agents: string,
  daemon: DaemonProgram,
  options: { ip?: boolean } = {},
): Promise<Agent> {
  const node = await realpath(process.execPath);
  const init = INITS.find((path) => existsSync(path));
  const lent = await lentPrograms(options);
  const name = await fingerprint(
    [node, ...(init === undefined ? [] : [init]), ...lent.values(), ...(await filesOf(daemon.directory))],
    daemon,
  );
  const target = join(agents, name);
  if (!existsSync(target)) {
    const draft = `${target}.new`;
    await rm(draft, { recursive: true, force: true });
    await mkdir(join(draft, 'lib'), { recursive: true });
    await copyFile(node, join(draft, 'node'));
    if (init !== undefined) {
      await copyFile(init, join(draft, 'init'));
      await chmod(join(draft, 'init'), 0o755);
    }
    for (const [as, program] of lent) await copyFile(program, join(draft, as));
    await cp(daemon.directory, join(draft, 'daemon'), { recursive: true, dereference: true });
    const addons = (await filesOf(daemon.directory)).filter((file) => file.endsWith('.node'));
    await copyLibraries([node, ...lent.values(), ...(await ofSameMachine(addons, node))], join(draft, 'lib'));
    // Root of an instance is nobody to these files.
    await runProgram('chmod', ['-R', 'a+rX', draft], { timeoutMs: 20_000 });
    await rename(draft, target);
  }
  return {
    name,
    init: init !== undefined,
    hostname: lent.has('hostname'),
    shell: lent.has('sh'),
    ip: lent.has('ip'),
  };
}

/** Programs of the host that a sandbox may have to run whatever is in its root, by their names in the directory. */
async function lentPrograms({ ip = false }: { ip?: boolean }): Promise<Map<string, string>> {
  const lent = new Map<string, string>();
  for (const [as, paths] of [
    ['hostname', HOSTNAMES],
    ['sh', SHELLS],
    ['ip', ip ? IPS : []],
  ] as const) {
    const path = paths.find((candidate) => existsSync(candidate));
    if (path !== undefined) lent.set(as, await realpath(path));
  }
  return lent;
}

/** From so much memory on V8 copies its own code, 1.6 MiB, into every daemon, MiB. */
const COPIES_FROM_MIB = 4096;

/** Command line of the daemon inside. @param memoryMiB that it sees; absent: the host's. */
export function agentArgs(
  agent: Pick<Agent, 'init'>,
  daemon: DaemonProgram,
  { port, memoryMiB = Number.POSITIVE_INFINITY }: { port: number; memoryMiB?: number | undefined },
): string[] {
  const entry = `/.sbx/daemon/${relative(daemon.directory, daemon.entry)}`;
  return [
    ...(agent.init ? ['/.sbx/init', '--'] : []),
    '/.sbx/lib/loader',
    '--library-path',
    '/.sbx/lib',
    '/.sbx/node',
    // Only there: with this flag V8 compiles Node's own modules again, 9 ms of processor time.
    ...(memoryMiB < COPIES_FROM_MIB ? [] : ['--no-short-builtin-calls']),
    entry,
    '--host',
    '0.0.0.0',
    '--port',
    String(port),
  ];
}

/** A published daemon brings add-ons for several processors; `ldd` refuses those of others. */
async function ofSameMachine(files: string[], program: string): Promise<string[]> {
  const machine = await machineOf(program);
  const machines = await Promise.all(files.map(machineOf));
  return files.filter((_, index) => machines[index] === machine);
}

/** The field `e_machine` of an ELF file. */
async function machineOf(file: string): Promise<number> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(20), 0, 20, 0);
    return buffer.readUInt16LE(18);
  } finally {
    await handle.close();
  }
}

async function copyLibraries(programs: string[], target: string): Promise<void> {
  const found = new Map<string, string>();
  let loader: string | undefined;
  for (const program of programs) {
    const { stdout } = await runProgram('ldd', [program], { timeoutMs: 20_000 });
    for (const line of stdout.split('\n')) {
      const library = /^\s*(\S+) => (\/\S+)/.exec(line);
      if (library !== null) found.set(library[1]!, library[2]!);
      const interpreter = /^\s*(\/\S*\/ld-\S+) \(/.exec(line) ?? /=> (\/\S*\/ld-\S+) \(/.exec(line);
      if (interpreter !== null) loader ??= interpreter[1]!;
    }
  }
  if (loader === undefined) {
    throw new DriverError('unsupported', 'The dynamic loader of the Node program cannot be found.', {
      detail: `ldd ${programs[0]}`,
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
}

async function fingerprint(files: string[], daemon: DaemonProgram): Promise<string> {
  // Those of an earlier version were for root alone.
  const hash = createHash('sha256')
    .update('for all')
    .update(process.version)
    .update(relative(daemon.directory, daemon.entry));
  for (const file of files.sort()) {
    if (file.startsWith(daemon.directory)) {
      hash
        .update(relative(daemon.directory, file))
        .update('\0')
        .update(await readFile(file));
    } else {
      const { size, mtimeMs } = await stat(file);
      hash.update(`${file}\0${size}\0${mtimeMs}\0`);
    }
  }
  return hash.digest('hex').slice(0, 16);
}

async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

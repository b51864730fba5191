import { readdir, readFile, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { BaseRoot, Isolation } from '../contract/capabilities.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';
import { type BuiltBase, baseDirectory, baseRecipe, chosenBaseRoot, findBase } from './base-root.js';
import { type HostLimit, readHostLimits } from './host-limits.js';
import {
  findProgram,
  criuDirectory as resolveCriuDirectory,
  runscDirectory as resolveRunscDirectory,
  versionOfCriu,
  versionOfRunsc,
} from './programs.js';

/** Programs that the `linux` driver uses. */
export const PROGRAMS = [
  'nft',
  'ip',
  'nsenter',
  'unshare',
  'setpriv',
  'mount',
  'tar',
  'timeout',
  'mkfs.btrfs',
  'crun',
  'skopeo',
  'mmdebstrap',
  'apt-get',
] as const;
/** OCI runtimes that the driver is tested with, the best first. */
export const TESTED_RUNTIMES = ['runc', 'crun'] as const;
export type ProgramName = (typeof PROGRAMS)[number];

/** The facts found on this host; input of the rules. */
export interface HostFacts {
  platform: NodeJS.Platform;
  root: boolean;
  programs: Partial<Record<ProgramName, string>>;
  /** Mount, network, ipc, uts and pid namespaces can be made, as tried. */
  namespaces: boolean;
  userNamespaces: boolean;
  /** An overlay with the options for checkpoints can be mounted, as tried. */
  overlay: boolean;
  /** File systems can be mounted with ids of their own, as tried. */
  ownIds: boolean;
  btrfs: boolean;
  cgroupControllers: string[];
  /** Limits of the kernel that the driver raises when it starts. */
  limits: HostLimit[];
  /** The OCI runtime that is asked for. */
  ociRuntime: string;
  ociRuntimePath: string | undefined;
  /** Version of the private CRIU. */
  criuVersion: string | undefined;
  criuDirectory: string;
  /** The desired isolation level of sandboxes. */
  isolation: Isolation;
  /** Version of the private gVisor runtime. */
  runscVersion: string | undefined;
  runscDirectory: string;
  freeDiskBytes: number | undefined;
  /** The scheduler that shares disks by weight here; undefined: none. */
  ioWeights: 'bfq' | 'io.cost' | undefined;
  /** The root file system of the template `base`, and what was built for it. */
  baseRoot: BaseRoot;
  base: BuiltBase | undefined;
}

export interface HostOptions {
  /** Where the data will lie; its free space is looked at. Default `/var/lib`. */
  dataDir?: string;
  /** OCI runtime: a name or an absolute path. Default `runc`, or `crun` where only that one is. */
  ociRuntime?: string;
  /** The root file system of the template `base`. Default `SVC_BASE_ROOT`, else `debian`. */
  baseRoot?: BaseRoot | undefined;
  /** Directory of the bases. Default `SVC_BASE_DIR`, else `/var/lib/svc/base`. */
  baseDirectory?: string | undefined;
  /** Directory of the private CRIU. Default `SVC_CRIU_DIR`, else `/var/lib/svc/criu`. */
  criuDirectory?: string;
  /** The desired isolation level of sandboxes. Default `container`. */
  isolation?: Isolation;
  /** Directory of the private gVisor runtime. Default `SVC_RUNSC_DIR`, else `/var/lib/svc/runsc`. */
  runscDirectory?: string;
}

export async function readHostFacts(options: HostOptions = {}): Promise<HostFacts> {
  const criuDirectory = resolveCriuDirectory(options);
  const runscDirectory = resolveRunscDirectory(options);
  const ociRuntime = options.ociRuntime ?? TESTED_RUNTIMES.find(findProgram) ?? TESTED_RUNTIMES[0];
  const programs: HostFacts['programs'] = {};
  for (const name of PROGRAMS) {
    const path = findProgram(name);
    if (path !== undefined) programs[name] = path;
  }
  return {
    platform: process.platform,
    root: process.getuid?.() === 0,
    programs,
    namespaces: await succeeds('unshare', [
      '-m',
      '--propagation',
      'unchanged',
      '-n',
      '-i',
      '-u',
      '-p',
      '-f',
      'true',
    ]),
    userNamespaces: await succeeds('unshare', ['-U', 'true']),
    // In a chroot mounts cannot be kept private that simply; then the kernel's word must do.
    overlay: (await succeeds('unshare', ['-m', 'true']))
      ? await succeeds('unshare', ['-m', 'sh', assetPath('try-overlay.sh')])
      : await knowsFileSystem('overlay'),
    ownIds: await succeeds('unshare', [
      ...['-m', 'sh', assetPath('try-own-ids.sh')],
      ...[assetPath('own-mounts.pl'), process.arch],
    ]),
    btrfs: await knowsFileSystem('btrfs'),
    cgroupControllers: parseCgroupControllers(
      await read('/proc/self/mountinfo'),
      await read('/sys/fs/cgroup/cgroup.controllers'),
    ),
    limits: process.platform === 'linux' ? readHostLimits() : [],
    ociRuntime,
    ociRuntimePath: findProgram(ociRuntime),
    criuVersion: await versionOfCriu(criuDirectory),
    criuDirectory,
    baseRoot: chosenBaseRoot(options),
    base: findBase(baseDirectory(options), await baseRecipe()),
    isolation: options.isolation ?? 'container',
    runscVersion: await versionOfRunsc(runscDirectory),
    runscDirectory,
    freeDiskBytes: await freeDisk(options.dataDir ?? '/var/lib'),
    ioWeights: chooseIoWeights(await schedulers(), await read('/sys/fs/cgroup/io.cost.qos')),
  };
}

/** Controllers of either hierarchy: v1 ones are mounted by name, v2 ones are listed at the root. */
export function parseCgroupControllers(mountinfo: string, v2Controllers: string): string[] {
  const found = new Set(v2Controllers.split(/\s+/).filter(Boolean));
  for (const line of mountinfo.split('\n')) {
    const [, options] = line.split(' - cgroup ');
    for (const name of options?.split(' ')[1]?.split(',') ?? []) found.add(name);
  }
  // v2 has no freezer controller: freezing is part of every cgroup there.
  if (v2Controllers.trim() !== '') found.add('freezer');
  return [...found];
}

/**
 * Returns the scheduler that gives disks to cgroups by their weight.
 * @param schedulers `/sys/block/NAME/queue/scheduler` of every disk; the one in brackets is in use.
 * @param cost `io.cost.qos` of cgroup v2
 */
export function chooseIoWeights(schedulers: readonly string[], cost: string): HostFacts['ioWeights'] {
  if (/\benable=1\b/.test(cost)) return 'io.cost';
  return schedulers.some((line) => line.includes('[bfq]')) ? 'bfq' : undefined;
}

async function schedulers(): Promise<string[]> {
  const disks = await readdir('/sys/block').catch(() => []);
  return Promise.all(disks.map((name) => read(`/sys/block/${name}/queue/scheduler`)));
}

async function succeeds(command: string, args: string[]): Promise<boolean> {
  const path = findProgram(command);
  if (path === undefined) return false;
  const result = await runProgram(path, args).catch(() => undefined);
  return result?.exitCode === 0;
}

async function knowsFileSystem(name: string): Promise<boolean> {
  if (new RegExp(`\\b${name}$`, 'm').test(await read('/proc/filesystems'))) return true;
  return succeeds('modprobe', ['-n', '-q', name]);
}

async function freeDisk(path: string): Promise<number | undefined> {
  // The directory may not exist yet: the nearest one above it stands on the same disk.
  for (let at = path; ; at = dirname(at)) {
    const info = await statfs(at).catch(() => undefined);
    if (info !== undefined) return info.bavail * info.bsize;
    if (at === dirname(at)) return undefined;
  }
}

function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

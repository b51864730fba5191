import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { findLinks } from '@svc/runtime/testing';

/** The objects of a machine that belong to sandboxes, as sorted lists of names. */
export interface HostSnapshot {
  processes: string[];
  mounts: string[];
  cgroups: string[];
  namespaces: string[];
  links: string[];
  ports: string[];
  directories: string[];
}

/**
 * Takes stock of the machine, as far as it can concern the data directory.
 * Other programs of the machine come and go, so only what names the directory, or looks like a driver's, is counted.
 */
export function takeSnapshot(dataDir: string): HostSnapshot {
  const own = ownProcesses(dataDir);
  return {
    processes: own.map(({ line }) => line).sort(),
    mounts: lines('/proc/self/mountinfo')
      .filter((line) => line.includes(dataDir))
      .map((line) => line.split(' ')[4]!)
      .sort(),
    cgroups: [...new Set(own.flatMap(({ pid }) => lines(`/proc/${pid}/cgroup`)))].sort(),
    namespaces: [...new Set(own.map(({ pid }) => link(`/proc/${pid}/ns/net`)))].sort(),
    // The driver has a directory of its own below the server's.
    links: findLinks(path.join(dataDir, 'driver')),
    ports: [...new Set(own.flatMap(({ pid }) => listening(pid)))].sort(),
    directories: directories(dataDir),
  };
}

function ownProcesses(dataDir: string): { pid: string; line: string }[] {
  return names('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    const command = text(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
    const traces = [
      command,
      text(`/proc/${pid}/environ`),
      link(`/proc/${pid}/cwd`),
      link(`/proc/${pid}/root`),
    ];
    return traces.some((trace) => trace.includes(dataDir)) ? [{ pid, line: command.slice(0, 160) }] : [];
  });
}

/** Where the process itself listens: others of its network do not count. */
function listening(pid: string): string[] {
  const open = new Set(names(`/proc/${pid}/fd`).map((fd) => link(`/proc/${pid}/fd/${fd}`)));
  return lines(`/proc/${pid}/net/tcp`)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && open.has(`socket:[${fields[9]}]`))
    .map((fields) => `${link(`/proc/${pid}/ns/net`)} ${fields[1]}`);
}

/** Everything below the data directory that a sandbox could have left, to the third level. */
function directories(root: string): string[] {
  if (!existsSync(root)) return [];
  const found = execFileSync('find', [root, '-xdev', '-maxdepth', '4', '-type', 'd'], { encoding: 'utf8' });
  return found
    .split('\n')
    .filter((one) => one !== '')
    .map((one) => path.relative(root, one))
    .sort();
}

/** Returns the objects that are in `after` and not in `before`. */
export function difference(before: HostSnapshot, after: HostSnapshot): string[] {
  return (Object.keys(after) as (keyof HostSnapshot)[]).flatMap((kind) => {
    const left = [...before[kind]];
    return after[kind].flatMap((one) => {
      const index = left.indexOf(one);
      if (index === -1) return [`${kind}: ${one}`];
      left.splice(index, 1);
      return [];
    });
  });
}

const names = (directory: string): string[] => attempt(() => readdirSync(directory), []);
const text = (file: string): string => attempt(() => readFileSync(file, 'utf8'), '');
const link = (file: string): string => attempt(() => readlinkSync(file), '');
const lines = (file: string): string[] =>
  text(file)
    .split('\n')
    .filter((line) => line !== '');

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

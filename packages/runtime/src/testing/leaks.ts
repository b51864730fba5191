import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { pathsOf } from '../linux-driver/state/paths.js';

/** Lists the resources that a data directory leaked on the host: processes that name it or stand in it, and mounts. Empty without /proc. */
export function findLeaks(dataDir: string): string[] {
  return [...processes(dataDir), ...mounts(dataDir)].sort();
}

/** Network links on the host that belong to the linux driver of a data directory. */
export function findLinks(dataDir: string): string[] {
  const { tag } = pathsOf(dataDir);
  return list('/sys/class/net')
    .filter((name) => name.includes(tag))
    .sort();
}

function processes(dataDir: string): string[] {
  return list('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    const traces = [
      read(`/proc/${pid}/environ`),
      read(`/proc/${pid}/cmdline`),
      linkTarget(`/proc/${pid}/cwd`),
    ];
    if (!traces.some((trace) => trace.includes(dataDir))) return [];
    return [`process ${pid}: ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 200)}`];
  });
}

function mounts(dataDir: string): string[] {
  const lines = read('/proc/self/mountinfo').split('\n');
  return lines.filter((line) => line.includes(dataDir)).map((line) => `mount ${line.split(' ')[4]}`);
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

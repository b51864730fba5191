import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../shared/read-text.js';

/** Reads which hierarchies are mounted where. Co-mounted v1 controllers (`cpu,cpuacct`) each get an entry. */
export function parseCgroupMounts(mountinfo: string): { v1: Map<string, string>; v2: string | undefined } {
  const v1 = new Map<string, string>();
  let v2: string | undefined;
  for (const line of mountinfo.split('\n')) {
    const [left, right] = line.split(' - ');
    if (left === undefined || right === undefined) continue;
    const point = left.split(' ')[4]!;
    const [type, , options] = right.split(' ');
    if (type === 'cgroup2') v2 ??= point;
    if (type !== 'cgroup') continue;
    for (const option of (options ?? '').split(',')) {
      if (option !== 'rw' && option !== 'ro' && option !== 'xattr' && !v1.has(option)) v1.set(option, point);
    }
  }
  return { v1, v2 };
}

/** Moves what it can: kernel threads stay. */
export function moveProcesses(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const pid of (readText(join(from, 'cgroup.procs')) ?? '').split('\n')) {
    if (pid === '') continue;
    try {
      writeFileSync(join(to, 'cgroup.procs'), pid);
    } catch {
      // A kernel thread or a process that ended.
    }
  }
}

/** A directory and those below it, parents first. */
export function walk(top: string): string[] {
  if (!existsSync(top)) return [];
  const found = [top];
  for (const entry of readdirSync(top, { withFileTypes: true })) {
    if (entry.isDirectory()) found.push(...walk(join(top, entry.name)));
  }
  return found;
}

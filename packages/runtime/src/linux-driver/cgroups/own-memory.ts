import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where the cgroups of this process stand. */
interface OwnGroups {
  /** Text of `/proc/self/cgroup`. */
  membership?: string;
  /** Where the hierarchies are mounted. */
  root?: string;
}

/** The files with a group's limit, its use, and the reclaimable file cache within that use, by version of cgroups. */
const FILES = {
  v1: { most: 'memory.limit_in_bytes', used: 'memory.usage_in_bytes', cache: 'total_inactive_file' },
  v2: { most: 'memory.max', used: 'memory.current', cache: 'inactive_file' },
};

/**
 * Memory that the cgroups of this process leave it, bytes: the least of its own and those above, such as what `MemoryMax=` of a unit
 * of systemd gives. Infinity where nothing limits it.
 */
export function ownMemoryRoom({
  membership = readFileSync('/proc/self/cgroup', 'utf8'),
  root = '/sys/fs/cgroup',
}: OwnGroups = {}): number {
  let room = Number.POSITIVE_INFINITY;
  for (const line of membership.split('\n')) {
    const [, id, controllers, path] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    const isV1 = controllers!.split(',').includes('memory');
    if (!isV1 && id !== '0') continue;
    const mount = isV1 ? join(root, 'memory') : root;
    for (let at = path; ; at = dirname(at)) {
      room = Math.min(room, roomIn(join(mount, at), isV1 ? FILES.v1 : FILES.v2));
      if (at === '/') break;
    }
  }
  return room;
}

function roomIn(group: string, files: (typeof FILES)['v1']): number {
  const most = Number(read(join(group, files.most)));
  const used = Number(read(join(group, files.used)));
  // The root has no such files, and "max" is no number: neither limits.
  if (!Number.isFinite(most) || !Number.isFinite(used)) return Number.POSITIVE_INFINITY;
  const cache = new RegExp(`^${files.cache} (\\d+)$`, 'm').exec(read(join(group, 'memory.stat')) ?? '')?.[1];
  return Math.max(0, most - used + Number(cache ?? 0));
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

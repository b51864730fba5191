import { readdirSync } from 'node:fs';
import { pathsOf } from '../src/linux-driver/state/paths.js';

/** Traces on the host that only the linux driver of a data directory leaves. */
export function linuxRemains(dataDir: string): string[] {
  const { tag } = pathsOf(dataDir);
  const links = readdirSync('/sys/class/net').filter((name) => name.includes(tag));
  const cgroups = readdirSync('/sys/fs/cgroup').flatMap((controller) => {
    try {
      return readdirSync(`/sys/fs/cgroup/${controller}`).filter((name) => name.includes(tag));
    } catch {
      return [];
    }
  });
  return [...links.map((name) => `link ${name}`), ...cgroups.map((name) => `cgroup ${name}`)];
}

import { readdirSync } from 'node:fs';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { findLinks } from '../../src/testing/leaks.js';

/** Resources that only the linux driver of a data directory can leak on the host. */
export function linuxLeaks(dataDir: string): string[] {
  const { tag } = pathsOf(dataDir);
  const cgroups = readdirSync('/sys/fs/cgroup').flatMap((controller) => {
    try {
      return readdirSync(`/sys/fs/cgroup/${controller}`).filter((name) => name.includes(tag));
    } catch {
      return [];
    }
  });
  return [...findLinks(dataDir).map((name) => `link ${name}`), ...cgroups.map((name) => `cgroup ${name}`)];
}

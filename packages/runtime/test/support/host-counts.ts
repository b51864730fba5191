import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { findLeaks, findLinks } from '../../src/testing/leaks.js';

/** Counts the resources of one data directory on the host. Counted under its own label: other programs come and go beside it. */
export async function countOnHost(dataDir: string): Promise<Record<string, number>> {
  const { tag, instances, oci } = pathsOf(dataDir);
  const loops = readdirSync('/sys/block').filter((name) => {
    try {
      return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').startsWith(dataDir);
    } catch {
      return false;
    }
  });
  return {
    traces: findLeaks(dataDir).length,
    cgroups: await countCgroups(tag),
    links: findLinks(dataDir).length,
    loopDevices: loops.length,
    records: list(instances),
    containers: list(oci),
  };
}

/** Cgroups of the label in every hierarchy, at any depth. */
async function countCgroups(tag: string): Promise<number> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => line.split(' ')[4]!);
  let count = 0;
  for (const mount of new Set(mounts)) {
    const labelled = readdirSync(mount).filter((name) => name.includes(tag));
    for (const name of labelled) count += 1 + below(`${mount}/${name}`);
  }
  return count;
}

function below(directory: string): number {
  let count = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) count += 1 + below(`${directory}/${entry.name}`);
  }
  return count;
}

function list(directory: string): number {
  try {
    return readdirSync(directory).length;
  } catch {
    return 0;
  }
}

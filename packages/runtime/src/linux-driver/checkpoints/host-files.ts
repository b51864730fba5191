import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { isThere } from '../rootfs/inside-layer.js';
import { planRoot } from '../rootfs/layer-facts.js';
import type { InstanceEntry } from '../state/records.js';

/**
 * What is read of an instance's mappings, characters, and of its descriptors. An instance may have millions, and the driver
 * serves others meanwhile. What is beyond is left to CRIU, which compares sizes.
 */
const MAPPINGS = 8 * 2 ** 20;
const DESCRIPTORS = 20_000;

/** A file of the host's `/usr` as it was when programs had it open. */
export interface HostFile {
  path: string;
  size: number;
  mtimeMs: number;
}

/**
 * The files of the host's `/usr` that an instance's programs have mapped or open, for those that stand on it: their memory is of
 * use only together with exactly these files. Undefined for an instance that shows nothing of the host.
 */
export function openHostFiles(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
): HostFile[] | undefined {
  const { usr } = planRoot(host.store, host.bases, entry.layers);
  if (usr === undefined) return undefined;
  const paths = openFiles(host.cgroups.pids(entry.name));
  // What a layer or the instance itself has in its place is part of the checkpoint.
  const above = [`i/${entry.name}/sv/uu`, ...usr.filter((path) => !path.startsWith('/'))];
  return [...paths].sort().flatMap((path) => {
    if (above.some((layer) => isThere(host.store.view(layer), path.slice('/usr/'.length)))) return [];
    const found = identify(keeper, path);
    return found === undefined ? [] : [found];
  });
}

/**
 * Refuses memory whose files of the host are others now: an upgrade of the host replaced them. CRIU looks at their sizes only.
 * @throws {DriverError} `unsupported`, with what to do.
 */
export function requireHostFiles(keeper: NamespaceKeeper, files: readonly HostFile[]): void {
  const changed = files.filter(({ path, size, mtimeMs }) => {
    const now = identify(keeper, path);
    return now?.size !== size || now.mtimeMs !== mtimeMs;
  });
  if (changed.length === 0) return;
  const names = changed.slice(0, 3).map(({ path }) => path);
  const more = changed.length > names.length ? ` and ${changed.length - names.length} more` : '';
  throw new DriverError(
    'unsupported',
    `Its memory cannot be restored: the programs of this machine that it was running have been replaced since (${names.join(', ')}${more}). Its files are kept: start it cold with memory: false. Sandboxes of the template base do not depend on this machine's programs.`,
  );
}

/** Files below `/usr` that processes have mapped or open, of so much as is read. */
export function openFiles(pids: readonly number[], proc = '/proc'): Set<string> {
  const paths = new Set<string>();
  let mappings = MAPPINGS;
  let descriptors = DESCRIPTORS;
  for (const pid of pids) {
    if (mappings <= 0 && descriptors <= 0) break;
    try {
      if (mappings > 0) {
        const maps = readFileSync(`${proc}/${pid}/maps`, 'utf8');
        mappings -= maps.length;
        for (const [, path] of maps.matchAll(/ (\/usr\/[^\n]+)$/gm)) paths.add(path!);
      }
      const open = descriptors > 0 ? readdirSync(`${proc}/${pid}/fd`).slice(0, descriptors) : [];
      descriptors -= open.length;
      for (const fd of open) {
        const path = readlinkSync(`${proc}/${pid}/fd/${fd}`);
        if (path.startsWith('/usr/')) paths.add(path);
      }
    } catch {
      // It has ended.
    }
  }
  return paths;
}

function identify(keeper: NamespaceKeeper, path: string): HostFile | undefined {
  const found = statSync(keeper.view(path), { throwIfNoEntry: false });
  return found?.isFile() === true
    ? { path, size: found.size, mtimeMs: Math.trunc(found.mtimeMs) }
    : undefined;
}

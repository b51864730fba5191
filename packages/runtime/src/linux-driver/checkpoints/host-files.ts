import { statSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';
import { Turns } from '../../shared/turns.js';
import { readDescriptors } from '../criu/read-descriptors.js';
import { readMappings } from '../criu/read-mappings.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { isThere } from '../rootfs/inside-layer.js';
import { planRoot } from '../rootfs/layer-facts.js';
import type { InstanceEntry } from '../state/records.js';

/** The most descriptors of an instance that are looked at while it is frozen. The rest is left to CRIU, which compares sizes. */
const MAX_DESCRIPTORS = 20_000;

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
export async function openHostFiles(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
): Promise<HostFile[] | undefined> {
  const { usr } = planRoot(host.store, host.bases, entry.layers);
  if (usr === undefined) return undefined;
  const paths = await openFiles(host.cgroups.pids(entry.name));
  // A file that a layer or the instance itself has in its place is part of the checkpoint.
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

/** Files below `/usr` that processes have mapped or open. */
export async function openFiles(pids: readonly number[], proc = '/proc'): Promise<Set<string>> {
  const paths = new Set<string>();
  const turns = new Turns();
  let left = MAX_DESCRIPTORS;
  for (const pid of pids) {
    for await (const lines of readMappings(pid, turns, proc))
      for (const line of lines) {
        const at = line.indexOf(' /usr/');
        if (at >= 0) paths.add(Buffer.from(line.slice(at + 1), 'latin1').toString());
      }
    for await (const [, path] of left > 0 ? readDescriptors(pid, turns, proc) : []) {
      if (path.startsWith('/usr/')) paths.add(path);
      left -= 1;
      if (left <= 0) break;
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

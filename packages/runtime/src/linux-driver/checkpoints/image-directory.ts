import { chmodSync, existsSync, mkdirSync, renameSync, statfsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { randomId } from '../../shared/instance-id.js';
import { readHostMemory } from '../cgroups/admission.js';
import { ownMemoryRoom } from '../cgroups/own-memory.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';

/** A file system in memory for images that need not outlive the driver (see `store_mount`). */
const IN_MEMORY = '/run/images';

/** Directory of a checkpoint's images, as the keeper's namespace has it. */
export function imageDirectory(
  { paths }: Pick<LinuxHost, 'paths'>,
  { id, inMemory }: { id: string; inMemory?: boolean | undefined },
): string {
  return inMemory === true ? join(IN_MEMORY, id) : join(paths.store, 'c', id, 'img');
}

/**
 * Returns true if images of about so many bytes may be kept in memory: copies of them take as much again, and the host needs some. They are
 * charged to the cgroup of this process, where a limit that is hit would end CRIU half-way, or this process.
 */
export function fitsInMemory(keeper: NamespaceKeeper, bytes: number): boolean {
  if (!existsSync(keeper.view(IN_MEMORY))) return false;
  const { bavail, bsize } = statfsSync(keeper.view(IN_MEMORY));
  return (
    bytes * 2 <= Math.min(bavail * bsize, ownMemoryRoom()) && bytes * 4 <= readHostMemory().availableBytes
  );
}

/** Makes it anew. Who is root of an instance and no more passes through, on kernels too that map no ids of memory. */
export async function makeImageDirectory(keeper: NamespaceKeeper, directory: string): Promise<void> {
  const path = keeper.view(directory);
  await rm(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}

/** Takes the images of a checkpoint out of memory. Their name is free at once; nothing to do for one in the store. */
export async function forgetImages(keeper: NamespaceKeeper, id: string): Promise<void> {
  const path = keeper.view(join(IN_MEMORY, id));
  if (!existsSync(path)) return;
  const aside = keeper.view(join(IN_MEMORY, `.gone-${randomId()}`));
  renameSync(path, aside);
  await rm(aside, { recursive: true, force: true });
}

/** Takes out what a crash left. @param known ids of the checkpoints that there are. */
export async function reapImages(keeper: NamespaceKeeper, known: ReadonlySet<string>): Promise<void> {
  const path = keeper.view(IN_MEMORY);
  for (const name of await readdir(path).catch(() => []))
    if (!known.has(name)) await rm(join(path, name), { recursive: true, force: true });
}

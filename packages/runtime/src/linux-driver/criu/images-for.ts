import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { LinuxHost } from '../host/linux-host.js';
import { moveUserNamespace } from '../ids/userns-image.js';
import { mountsOf } from '../state/mount-points.js';
import type { InstanceEntry } from '../state/records.js';

/** The images that a restore reads: paths of the keeper's namespace. */
export interface Images {
  /** Images of the checkpoint, which are never written to. */
  directory: string;
  /** The instance's own image of its user namespace, seen in place of the stored one. */
  ownUsers: string;
}

/** Where a restore sees them, with the instance's ids: processes open them that are already root of the instance and no more. */
export function imagesView(name: string): string {
  return `${mountsOf(name)}/img`;
}

/**
 * Makes an image of the user namespace with the instance's own ids, and the place where all images are seen.
 * @param directory of the checkpoint's images, in the keeper's namespace.
 */
export function imagesFor(host: LinuxHost, entry: InstanceEntry, directory: string): Images {
  const keeper = host.current!;
  const stored = readdirSync(keeper.view(directory)).find((name) => /^userns-\d+\.img$/.test(name));
  if (stored === undefined) throw new Error(`There is no image of a user namespace in ${directory}.`);
  const ownUsers = join(host.paths.store, 'i', entry.name, basename(stored));
  const image = readFileSync(keeper.view(join(directory, stored)));
  writeFileSync(keeper.view(ownUsers), moveUserNamespace(image, entry.firstId ?? 0));
  keeper.makeDirectory(imagesView(entry.name));
  return { directory, ownUsers };
}

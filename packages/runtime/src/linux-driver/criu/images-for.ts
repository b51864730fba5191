import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LinuxHost } from '../host/linux-host.js';
import { moveUserNamespace } from '../ids/userns-image.js';
import { mountsOf } from '../state/mount-points.js';
import type { InstanceEntry } from '../state/records.js';

/** Directory with the images that an instance is restored from, in the store. */
function imagesOf(name: string): string {
  return `i/${name}/img`;
}

/** Where they are seen with the instance's ids: processes open them that are already root of the instance and no more. */
export function imagesView(name: string): string {
  return `${mountsOf(name)}/img`;
}

/**
 * Makes the directory of a checkpoint's images for one instance: other names of the same files, beside an image of the
 * user namespace with the instance's own ids. Gives its path in the store.
 */
export function linkImages(
  { store, current }: LinuxHost,
  entry: InstanceEntry,
  checkpointId: string,
): string {
  const stored = store.view(`c/${checkpointId}/img`);
  const images = store.view(imagesOf(entry.name));
  mkdirSync(images, { recursive: true });
  for (const name of readdirSync(stored)) {
    const target = join(images, name);
    if (/^userns-\d+\.img$/.test(name))
      writeFileSync(target, moveUserNamespace(readFileSync(join(stored, name)), entry.firstId ?? 0));
    else linkSync(join(stored, name), target);
  }
  current!.makeDirectory(imagesView(entry.name));
  return imagesOf(entry.name);
}

/** Lets go of them: the checkpoint may be deleted while the instance lives on. */
export function unlinkImages({ store }: LinuxHost, entry: InstanceEntry): void {
  rmSync(store.view(imagesOf(entry.name)), { recursive: true, force: true });
}

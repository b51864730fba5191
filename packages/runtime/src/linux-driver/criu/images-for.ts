import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { LinuxHost } from '../host/linux-host.js';
import { moveUserNamespace } from '../ids/userns-image.js';
import { mountsOf } from '../state/mount-points.js';
import type { InstanceEntry } from '../state/records.js';

/** What a restore reads, relative to the store. */
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

/** Makes an image of the user namespace with the instance's own ids, and the place where all images are seen. */
export function imagesFor({ store, current }: LinuxHost, entry: InstanceEntry, checkpointId: string): Images {
  const directory = `c/${checkpointId}/img`;
  const stored = readdirSync(store.view(directory)).find((name) => /^userns-\d+\.img$/.test(name));
  if (stored === undefined)
    throw new Error(`The checkpoint ${checkpointId} has no image of its user namespace.`);
  const ownUsers = join('i', entry.name, basename(stored));
  const image = readFileSync(store.view(join(directory, stored)));
  writeFileSync(store.view(ownUsers), moveUserNamespace(image, entry.firstId ?? 0));
  current!.makeDirectory(imagesView(entry.name));
  return { directory, ownUsers };
}

import type { VolumeContent } from '../contract/volumes.js';

const ROOT = { uid: 0, gid: 0 };

/** New entries belong to root unless another owner is named, regardless of the process that makes them. */
export function ownedByRoot(content: VolumeContent): VolumeContent {
  return {
    ...content,
    makeDirectory: (path, options) => content.makeDirectory(path, { ...ROOT, ...options }),
    write: (path, body, options) => content.write(path, body, { ...ROOT, ...options }),
  };
}

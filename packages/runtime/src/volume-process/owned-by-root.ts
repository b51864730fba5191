import type { VolumeContent } from '../contract/volumes.js';

const ROOT = { uid: 0, gid: 0 };

/** What is made belongs to root unless another owner is named, whoever makes it. */
export function ownedByRoot(content: VolumeContent): VolumeContent {
  return {
    ...content,
    makeDirectory: (path, options) => content.makeDirectory(path, { ...ROOT, ...options }),
    write: (path, body, options) => content.write(path, body, { ...ROOT, ...options }),
  };
}

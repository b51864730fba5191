import type { VolumeContent } from '../contract/volumes.js';

/** Content whose place is found anew for each call: what serves it may end and be started again in between. */
export function contentBehind(find: () => Promise<VolumeContent>): VolumeContent {
  return {
    stat: async (path) => (await find()).stat(path),
    list: async (path, depth) => (await find()).list(path, depth),
    change: async (path, change) => (await find()).change(path, change),
    makeDirectory: async (path, options) => (await find()).makeDirectory(path, options),
    remove: async (path) => (await find()).remove(path),
    read: async (path) => (await find()).read(path),
    write: async (path, body, options) => (await find()).write(path, body, options),
  };
}

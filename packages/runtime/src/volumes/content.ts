import type { VolumeContent, Volumes } from '../contract/volumes.js';
import { randomId, requireVolumeId } from '../shared/instance-id.js';
import { fromErrno } from './errors.js';
import {
  changeEntry,
  createDirectory,
  deleteEntry,
  listEntries,
  openFile,
  readEntry,
  writeFile,
} from './operations.js';

/** The files of a volume. @param rootOf absolute path of a volume's directory, by its id. */
export function volumeContent(id: string, rootOf: (id: string) => Promise<string>): VolumeContent {
  requireVolumeId(id);
  const at = async <T>(path: string, task: (root: string) => Promise<T>): Promise<T> => {
    try {
      return await task(await rootOf(id));
    } catch (error) {
      throw fromErrno(error, path);
    }
  };
  return {
    stat: (path) => at(path, (root) => readEntry(root, path)),
    list: (path, depth) => at(path, (root) => listEntries(root, path, depth)),
    change: (path, change) => at(path, (root) => changeEntry(root, path, change)),
    makeDirectory: (path, options) => at(path, (root) => createDirectory(root, path, options)),
    remove: (path) => at(path, (root) => deleteEntry(root, path)),
    read: (path) => at(path, (root) => openFile(root, path)),
    write: (path, body, options) =>
      at(path, (root) => writeFile(root, path, body, { ...options, unique: randomId() })),
  };
}

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

/** Volumes as their driver has them: directories that it can mount. */
export interface HostVolumes extends Volumes {
  /** Absolute path for this process. */
  path(id: string): Promise<string>;
  /** Removes what an earlier process was about to remove. */
  reap(): Promise<void>;
}

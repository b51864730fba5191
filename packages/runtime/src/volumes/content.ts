import type { VolumeContent } from '../contract/volumes.js';
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

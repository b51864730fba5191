import { chmod, mkdir, stat } from 'node:fs/promises';

/** The data directory cannot be kept from other users of this machine. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
}

/**
 * Makes the data directory with mode 0700, and takes the rights of others away from one that is there already: keys,
 * the database and the files of sandboxes stand in it.
 * @param onChange told of a mode that was changed.
 * @throws {DataDirectoryError} when it is no directory, or belongs to another user
 */
export async function makePrivateDirectory(
  directory: string,
  onChange: (fields: { directory: string; from: string; to: string }) => void,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await stat(directory);
  if (!found.isDirectory())
    throw new DataDirectoryError(`the data directory ${directory} is not a directory`);
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user)
    throw new DataDirectoryError(
      `the data directory ${directory} belongs to user ${found.uid} and the server runs as user ${user}: that user could read its keys and put files in its way; give it to the server (chown -R ${user} ${directory}), or name another directory`,
    );
  const mode = found.mode & 0o7777;
  if ((mode & 0o077) === 0) return;
  await chmod(directory, 0o700);
  onChange({ directory, from: `0${mode.toString(8)}`, to: '0700' });
}

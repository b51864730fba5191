import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CliError } from '../errors/cli-error.js';

/**
 * Where a file of a sandbox or volume goes: to the path that is named, or into the directory that is, under the last
 * name of the path that the user wrote. What the other side calls the file does not matter: it may say `../x`.
 * @throws {CliError} when that path ends with no name
 */
export async function localTarget(remote: string, local: string): Promise<string> {
  const there = local.endsWith('/') ? undefined : await stat(local).catch(() => undefined);
  if (!local.endsWith('/') && !there?.isDirectory()) return local;
  const name = posix.basename(remote);
  // On Windows `..\x` and `c:x` are more than a name.
  if (['', '.', '..', '~'].includes(name) || basename(name) !== name)
    throw new CliError(`${remote} ends with no name that a file can have here.`, {
      hint: `Name the file: ${join(local, 'NAME')}`,
    });
  return join(local, name);
}

/**
 * Writes a file beside its place, then puts it there at once: a copy that breaks off leaves what was there. Something
 * that is no file, a device or a fifo, is written to.
 * @param mode of a new file, less what the umask takes; nobody but its owner may write it
 * @throws {CliError} when its directory is not there
 */
export async function receiveFile(
  target: string,
  mode: number,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const there = await stat(target).catch(() => undefined);
  if (there !== undefined && !there.isFile() && !there.isDirectory())
    return pipeline(content, (await open(target, constants.O_WRONLY)).createWriteStream());
  const draft = `${target}.part-${randomBytes(6).toString('hex')}`;
  // Exclusive: a link that somebody put there is not followed.
  const file = await open(draft, 'wx', mode & 0o755).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    throw new CliError(`${target} cannot be written: there is no directory ${dirname(target)}.`, {
      cause: error,
    });
  });
  try {
    await pipeline(content, file.createWriteStream());
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

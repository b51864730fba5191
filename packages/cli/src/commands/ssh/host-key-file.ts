import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateHostKey, type HostKey, knownHostsLine, parseHostKey } from '@svc/ssh';
import { configDirectory } from '../../connection/directories.js';
import { CliError } from '../../errors/cli-error.js';

/** Name under which clients know the key of every sandbox. */
export const hostKeyAlias = 'svc-sandbox';

/** Where the host key is, and what clients compare it with. */
export interface HostKeyFiles {
  key: string;
  knownHosts: string;
}

export function hostKeyFiles(env: Record<string, string | undefined>): HostKeyFiles {
  const directory = join(configDirectory(env), 'ssh');
  return { key: join(directory, 'host_key'), knownHosts: join(directory, 'known_hosts') };
}

/**
 * The user's own host key, made with the first use. It never leaves this machine: both ends of the connection are
 * programs of one user.
 * @throws {CliError} when the file cannot be used
 */
export async function loadHostKey({ key, knownHosts }: HostKeyFiles): Promise<HostKey> {
  await mkdir(join(key, '..'), { recursive: true, mode: 0o700 });
  for (;;) {
    const pem = await readFile(key, 'utf8').catch(ifMissing);
    if (pem !== undefined) {
      const hostKey = parse(pem, key);
      const line = knownHostsLine(hostKeyAlias, hostKey);
      if ((await readFile(knownHosts, 'utf8').catch(ifMissing)) === undefined)
        await writeWhole(knownHosts, line);
      return hostKey;
    }
    await writeWhole(key, generateHostKey());
  }
}

/** Writes a file that was not there; one that somebody else was first to write stays. */
async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { mode: 0o600 });
  try {
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
}

function parse(pem: string, file: string): HostKey {
  try {
    return parseHostKey(pem);
  } catch (cause) {
    throw new CliError(`The SSH host key in ${file} cannot be used: ${(cause as Error).message}.`, {
      hint: 'Remove the file, and known_hosts beside it: both are made again.',
      cause,
    });
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw new CliError(`${error.path ?? 'A file'} cannot be read: ${error.code ?? error.message}.`, {
    cause: error,
  });
}

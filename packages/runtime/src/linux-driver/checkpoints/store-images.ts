import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { saysDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';
import { runProgram } from '../../shared/run-program.js';
import type { LinuxHost } from '../host/linux-host.js';
import { storageFull, storeIsFull } from '../store/storage-full.js';
import { readCheckpoint } from './checkpoint.js';
import { imageDirectory } from './image-directory.js';

const COPY_MS = 300_000;

/**
 * Stores the images of a checkpoint that are in memory only, so that it can be sent to another host; nothing to do for any other. Those in
 * memory stay until it is deleted: a restore may be reading them. To be called once at a time for one checkpoint.
 * @throws {DriverError} `storage_full`; `not_found` when it is deleted meanwhile; `unsupported` when the machine has started again since
 */
export async function storeImages(host: LinuxHost, id: string): Promise<void> {
  const keeper = await host.up();
  const record = readCheckpoint(host, id);
  if (record?.inMemory !== true) return;
  const from = imageDirectory(host, record);
  if (!existsSync(keeper.view(from)))
    throw new DriverError(
      'unsupported',
      'The memory of the checkpoint is lost: this machine has started again.',
    );
  const to = imageDirectory(host, { id });
  const draft = `${to}.draft`;
  await host.space.require(await bytesOf(keeper.view(from)));
  try {
    rmSync(keeper.view(draft), { recursive: true, force: true });
    const [program, ...args] = keeper.enter(['cp', '--recursive', '--no-target-directory', from, draft]);
    const { exitCode, stderr } = await runProgram(program!, args, { timeoutMs: COPY_MS });
    if (saysDiskFull(stderr)) throw storeIsFull({ detail: stderr });
    if (exitCode !== 0) throw new Error(`The images of a checkpoint could not be stored: ${stderr}`);
    const images = keeper.view(draft);
    // As those are that were stored at once: a restore reads them as root of an instance, and nobody writes to them.
    await chmod(images, 0o755);
    for (const name of await readdir(images)) await chmod(join(images, name), 0o444);
    renameSync(images, keeper.view(to));
    const { inMemory: _, ...stored } = record;
    const directory = host.store.view(`c/${id}`);
    writeFileSync(join(directory, 'record.json.draft'), JSON.stringify(stored));
    renameSync(join(directory, 'record.json.draft'), join(directory, 'record.json'));
  } catch (error) {
    rmSync(keeper.view(draft), { recursive: true, force: true });
    if (!existsSync(host.store.view(`c/${id}`)))
      throw new DriverError('not_found', `There is no checkpoint "${id}" on this machine any more.`);
    throw storageFull(error);
  }
}

async function bytesOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) bytes += (await stat(join(directory, name))).blocks * 512;
  return bytes;
}

import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { openStoreBackup, type StoreBackup } from '@svc/runtime/linux';
import { dataLayout } from '../../storage/data/data-layout.js';
import { ArchiveWriter, fileExists } from './archive-writer.js';
import { BackupError } from './backup-error.js';
import { DESCRIPTION, describeBackup, SERVER_MEMBER, storeMember } from './description.js';
import { DATABASE, type DatabaseFacts, KEPT_FILES, openServerPart, type ServerPart } from './server-part.js';

/** Most copies of the database, each because something that it names was made and removed meanwhile. */
const ATTEMPTS = 4;
/** Memory of programs shrinks to a third already; more would take several times as long. */
const COMPRESSION = { level: 1 };

export interface BackupOptions {
  dataDir: string;
  /** File to write. There must be none of that name. */
  file: string;
  /** Version of the program, for the record. */
  version: string;
  /** Default true. Without it the key has to be backed up by other means. */
  key?: boolean | undefined;
  /** Includes the root file systems that sandboxes stand on. Default true. */
  bases?: boolean | undefined;
  /** Directory of the bases. */
  baseDirectory?: string | undefined;
  /** True when the server uses PostgreSQL, of which no file is there. */
  postgres?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((member: string, bytes: number) => void) | undefined;
}

/** The content of a backup. */
export interface BackupReport {
  file: string;
  sizeBytes: number;
  database: 'sqlite' | 'postgresql';
  hasKey: boolean;
  /** The number of each. */
  checkpoints: number;
  layers: number;
  volumes: number;
  bases: number;
  /** Objects that records name and the store does not have. */
  missing: string[];
  /** Bases that are not on this machine although something stands on them. */
  missingBases: string[];
}

/**
 * Writes database, keys, volumes, layers of templates, and checkpoints (paused sandboxes, snapshots, memory of templates) of a
 * data directory to one file, as root, while its server runs or not. Sandboxes that run are not part of it.
 * @throws {BackupError}, {DriverError}
 */
export async function createBackup(options: BackupOptions): Promise<BackupReport> {
  if (process.getuid?.() !== 0)
    throw new BackupError('A backup is made by root.', { hint: 'Try with sudo.' });
  if (existsSync(options.file)) throw fileExists(options.file);
  const data = await findData(options.dataDir);
  const database = data.hasDatabase && options.postgres !== true ? 'sqlite' : 'postgresql';
  const names = KEPT_FILES.filter((name) => name !== 'server.key' || options.key !== false);
  const writer = await ArchiveWriter.create(options.file, Date.now());
  let store: StoreBackup | undefined;
  const part = openServerPart(data.server, data.owner, names);
  try {
    store = await openStoreBackup({ dataDir: data.driver, baseDirectory: options.baseDirectory });
    const facts = await copyTogether(store, database === 'sqlite' ? part : undefined, options.signal);
    const hasKey = options.key !== false && existsSync(`${data.server}/server.key`);
    const description = describeBackup({
      version: options.version,
      createdAt: new Date().toISOString(),
      database,
      migrations: facts.migrations,
      hasKey,
      missing: facts.missing,
    });
    await writer.add(DESCRIPTION, Buffer.from(`${JSON.stringify(description, null, 2)}\n`));
    const add = async (name: string, { tar, done }: { tar: Readable; done: Promise<void> }) => {
      options.signal?.throwIfAborted();
      await writer.add(name, compressed(tar, options.signal));
      await done;
      options.onProgress?.(name, writer.sizeBytes);
    };
    await add(SERVER_MEMBER, part.pack());
    const entries = store.entries({ bases: options.bases !== false });
    for (const entry of entries) await add(storeMember(entry), store.pack(entry));
    await writer.finish();
    const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
    return {
      file: options.file,
      sizeBytes: writer.sizeBytes,
      database,
      hasKey,
      checkpoints: count('checkpoint'),
      layers: count('layer'),
      volumes: count('volume'),
      bases: count('base'),
      missing: facts.missing,
      missingBases: store.missingBases(),
    };
  } finally {
    await writer.close();
    await part.close();
    await store?.close();
  }
}

/**
 * Opens the store before and after the database is copied, so that everything is there that the copy names: an object that is
 * there besides, a restored server removes.
 */
async function copyTogether(
  store: StoreBackup,
  part: ServerPart | undefined,
  signal: AbortSignal | undefined,
): Promise<Pick<DatabaseFacts, 'migrations'> & { missing: string[] }> {
  await store.stage();
  if (part === undefined) return { migrations: [], missing: [] };
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    const facts = await part.copyDatabase();
    await store.stage();
    const held = new Set(store.entries({ bases: false }).map(({ kind, id }) => `${kind}/${id}`));
    const named = [
      ...facts.checkpoints.map((id) => `checkpoint/${id}`),
      ...facts.layers.map((id) => `layer/${id}`),
    ];
    const missing = named.filter((key) => !held.has(key));
    if (missing.length === 0 || attempt === ATTEMPTS) return { migrations: facts.migrations, missing };
  }
}

function compressed(tar: Readable, signal: AbortSignal | undefined): Readable {
  const gzip = createGzip(COMPRESSION);
  const abort = () => gzip.destroy(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  gzip.once('close', () => signal?.removeEventListener('abort', abort));
  tar.once('error', (error) => gzip.destroy(error));
  gzip.once('close', () => tar.destroy());
  return tar.pipe(gzip);
}

/** The layout of the data directory of a server with the `linux` driver. */
interface FoundData {
  /** Part of the server, and the user that it runs as. */
  server: string;
  owner: { uid: number; gid: number };
  /** Part of the driver. */
  driver: string;
  /** True when the server uses SQLite, of which there is a file. */
  hasDatabase: boolean;
}

/** @throws {BackupError} where there is no such data */
async function findData(dataDir: string): Promise<FoundData> {
  const layout = dataLayout(dataDir);
  const separate = await lstat(layout.server).catch(() => undefined);
  const server = separate === undefined ? dataDir : layout.server;
  const found = separate ?? (await lstat(dataDir).catch(() => undefined));
  const key = await lstat(join(server, 'node-id')).catch(() => undefined);
  if (found?.isDirectory() !== true || key === undefined)
    throw new BackupError(`There is no data of a server in ${dataDir}.`, {
      hint: 'Name its data directory with --data-dir.',
    });
  if ((await lstat(join(layout.runtime, 'store')).catch(() => undefined)) === undefined)
    throw new BackupError(`The sandboxes in ${dataDir} are not of the linux driver.`, {
      hint: 'With the driver "process" there is no memory to keep: stop the server and copy the directory.',
    });
  const database = await lstat(join(server, DATABASE)).catch(() => undefined);
  return {
    server,
    owner: { uid: found.uid, gid: found.gid },
    driver: layout.runtime,
    hasDatabase: database?.isFile() === true,
  };
}

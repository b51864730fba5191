import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { type HeldDirectory, type LocalRoot, readFlags, smallFileBytes } from '../local/local-root.js';
import { nameOf, parentOf } from '../plan/tree.js';
import { ownPrefix } from '../rules/names.js';
import { runScript } from './remote-shell.js';
import type { RemoteRoot } from './scan-remote.js';

/** A file to send to the staging directory of the sandbox. */
export type Staged =
  | { path: string; type: 'file'; digest: string; sizeBytes: number; mode: number; modifiedMs: number }
  | { path: string; type: 'symlink'; target: string };

const pieceBytes = 128 * 1024;

/** Unpacks an archive below `$2`, a directory of the root `$1` that is made; what broken runs staged an hour ago goes. */
const stageScript = `cd -- "$1" || exit 1
find . -maxdepth 1 -name '${ownPrefix}*' -mmin +60 -exec rm -rf {} + </dev/null
mkdir -p -- "$2" && exec tar -x -p -o -f - -C "$2"`;

/**
 * Sends files and links to a directory of the sandbox, as one stream.
 * @returns paths whose content was another one than that of their digest; what was staged of them is worth nothing
 */
export async function stageFiles(
  local: LocalRoot,
  remote: RemoteRoot,
  entries: readonly Staged[],
  options: { stage: string; signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<Set<string>> {
  const stale = new Set<string>();
  const { sandbox, path, user } = remote;
  const { signal, stage } = options;
  const input = archiveOf(local, entries, stale, options.onBytes);
  const run = { script: stageScript, args: [path, stage], input, user, signal };
  for await (const _ of runScript(sandbox, run));
  return stale;
}

/** A tar archive of entries. Each file has the size that was promised, despite changes meanwhile. */
async function* archiveOf(
  root: LocalRoot,
  entries: readonly Staged[],
  stale: Set<string>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { default: tar } = await import('tar-stream');
  const archive = tar.pack();
  const filled = fill();
  filled.catch((error) => archive.destroy(error));
  let pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of archive as AsyncIterable<Uint8Array>) {
      pieces.push(chunk);
      size += chunk.length;
      if (size < pieceBytes) continue;
      yield Buffer.concat(pieces);
      pieces = [];
      size = 0;
    }
    await filled;
    if (size > 0) yield Buffer.concat(pieces);
  } finally {
    archive.destroy();
  }

  async function fill(): Promise<void> {
    let held: { directory: string; handle: HeldDirectory | undefined } | undefined;
    try {
      for (const entry of entries) {
        const { path } = entry;
        if (entry.type === 'symlink') {
          archive.entry({ name: `./${path}`, type: 'symlink', linkname: entry.target, size: 0 });
          continue;
        }
        const directory = parentOf(path);
        if (held?.directory !== directory) {
          await held?.handle?.close();
          held = { directory, handle: await root.enter(directory).catch(() => undefined) };
        }
        if (!(await addFile(entry, held.handle))) stale.add(path);
        if (archive.destroyed) return;
      }
    } finally {
      await held?.handle?.close();
    }
    archive.finalize();
  }

  /** False when it had other content than was promised. */
  async function addFile(
    { path, digest, sizeBytes, mode, modifiedMs }: Staged & { type: 'file' },
    directory: HeldDirectory | undefined,
  ): Promise<boolean> {
    const header = { name: `./${path}`, mode, mtime: new Date(modifiedMs), uid: 0, gid: 0 };
    let done = (): void => {};
    const finished = new Promise<void>((resolve) => {
      done = resolve;
    });
    const sink = archive.entry({ ...header, type: 'file', size: sizeBytes }, () => done());
    sink.on('error', () => {});
    sink.on('close', () => done());
    const hash = createHash('sha256');
    const source = await openSource(directory?.at(nameOf(path)), sizeBytes);
    let sent = 0;
    try {
      while (sent < sizeBytes && !archive.destroyed) {
        const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, sizeBytes - sent));
        const count = await source.read(buffer);
        // The archive has promised that many bytes.
        const piece = count > 0 ? buffer.subarray(0, count) : buffer.fill(0);
        hash.update(piece);
        sent += piece.length;
        onBytes(piece.length);
        if (!sink.write(piece)) {
          await Promise.race([new Promise<void>((resolve) => sink.once('drain', () => resolve())), finished]);
        }
      }
      const isAtEnd = (await source.read(Buffer.allocUnsafe(1))) === 0;
      sink.end(undefined);
      await finished;
      return isAtEnd && hash.digest('hex') === digest;
    } finally {
      await source.close();
    }
  }
}

/** Where the content of a file comes from. */
interface Source {
  /** Gives the number of bytes; 0 at the end, or where nothing can be read. */
  read(into: Buffer): number | Promise<number>;
  close(): void | Promise<void>;
}

const nothing: Source = { read: () => 0, close: () => {} };

/** Opens a file, or nothing where there is none. Small ones are not waited for at each step. */
async function openSource(at: string | undefined, sizeBytes: number): Promise<Source> {
  if (at === undefined) return nothing;
  try {
    if (sizeBytes > smallFileBytes) {
      const file = await open(at, readFlags);
      return {
        read: async (into) =>
          (await file.read(into, 0, into.length, null).catch(() => undefined))?.bytesRead ?? 0,
        close: () => file.close(),
      };
    }
    const file = openSync(at, readFlags);
    return { read: (into) => readSync(file, into), close: () => closeSync(file) };
  } catch {
    return nothing;
  }
}

import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { LocalEntry } from '../contract/local-files.js';

/** Size of the pieces in which an archive is handed on, bytes: its headers alone would be many small ones. */
const pieceBytes = 128 * 1024;

export async function* pack(
  root: string,
  entries: Iterable<LocalEntry>,
  onBytes?: (path: string, bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { default: tar } = await import('tar-stream');
  const archive = tar.pack();
  const filled = fill();
  // Its failure destroys the archive and is thrown below.
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
    for (const entry of entries) {
      const { path, type, target } = entry;
      const header = {
        name: `./${path}${type === 'directory' ? '/' : ''}`,
        mode: entry.mode & 0o7777,
        mtime: entry.modifiedAt,
        uid: 0,
        gid: 0,
      };
      if (type === 'file') await addFile(entry, header);
      else archive.entry({ ...header, type, size: 0, ...(target === undefined ? {} : { linkname: target }) });
      if (type !== 'file') onBytes?.(path, 0);
    }
    archive.finalize();
  }

  async function addFile(entry: LocalEntry, header: { name: string }): Promise<void> {
    const { path, sizeBytes } = entry;
    let failed: Error | null | undefined;
    let done = (): void => {};
    const finished = new Promise<void>((resolve) => {
      done = resolve;
    });
    const sink = archive.entry({ ...header, type: 'file', size: sizeBytes }, (error) => {
      failed = error;
      done();
    });
    sink.on('error', () => {});
    sink.on('close', () => done());
    let read = 0;
    if (sizeBytes > 0) {
      // The archive has promised that many bytes: what is appended meanwhile stays out.
      for await (const chunk of createReadStream(join(root, path), {
        end: sizeBytes - 1,
        highWaterMark: pieceBytes,
      })) {
        read += chunk.length;
        if (!sink.write(chunk)) {
          await Promise.race([new Promise<void>((resolve) => sink.once('drain', () => resolve())), finished]);
        }
        if (failed || archive.destroyed) return;
        onBytes?.(path, chunk.length);
      }
    }
    if (read < sizeBytes)
      throw new Error(`${path} shrank from ${sizeBytes} to ${read} bytes while it was read`);
    if (sizeBytes === 0) onBytes?.(path, 0);
    sink.end(undefined);
    await finished;
  }
}

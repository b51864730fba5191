import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServerError } from '@svc/sdk';
import { Changed, writeLocal, writeSmallLocal } from '../local/change-local.js';
import { type LocalRoot, smallFileBytes } from '../local/local-root.js';
import { runScript } from './remote-shell.js';
import type { RemoteRoot } from './scan-remote.js';

/** A file of the sandbox, as it was found. */
export interface Wanted {
  path: string;
  digest: string;
  sizeBytes: number;
  mode: number;
  modifiedMs: number;
  /** The entry at its place here: by its fingerprint, or nothing. */
  expected: string | undefined;
}

/** Packs the files that standard input names. Those that went are left out. */
const packScript = `cd -- "$1" || exit 1
tar -c --null --no-recursion --hard-dereference --ignore-failed-read --verbatim-files-from -f - -T - || [ $? -eq 1 ]`;

/**
 * Fetches files as one stream and puts each in its place when it is whole and has the content of its digest.
 * Fetches these files and no more: other names, other kinds of entries and further bytes from the sandbox are not written.
 * @param options.onFile called for each that came: with an error when it was not put in its place
 */
export async function fetchFiles(
  local: LocalRoot,
  remote: RemoteRoot,
  files: readonly Wanted[],
  options: {
    signal: AbortSignal;
    onBytes: (bytes: number) => void;
    onFile: (path: string, error: unknown) => void;
  },
): Promise<void> {
  const { default: tar } = await import('tar-stream');
  const { signal, onBytes, onFile } = options;
  const wanted = new Map(files.map((file) => [file.path, file]));
  const encoder = new TextEncoder();
  const input = (async function* () {
    for (let at = 0; at < files.length; at += 1_000) {
      yield encoder.encode(
        files
          .slice(at, at + 1_000)
          .map(({ path }) => `./${path}\0`)
          .join(''),
      );
    }
  })();
  const run = { script: packScript, args: [remote.path], input, user: remote.user, signal };
  const archive = runScript(remote.sandbox, run);
  const extraction = tar.extract();
  const feeding = pipeline(Readable.from(archive, { objectMode: true }), extraction);
  feeding.catch(() => {});
  try {
    for await (const entry of extraction) {
      const { name, type, size } = entry.header;
      const file = wanted.get(name.replace(/^\.\//, ''));
      if (file === undefined || (type !== 'file' && type !== 'contiguous-file'))
        throw new ServerError('sync: the sandbox sent something that was not asked for.', {
          operation: 'sync',
        });
      wanted.delete(file.path);
      const content = entry as AsyncIterable<Uint8Array>;
      if (size !== file.sizeBytes) {
        // It is another file by now. What is left of it is read, or the next one would never come.
        for await (const _ of content);
        onFile(file.path, new Changed(file.path));
        continue;
      }
      await place(file, content);
      entry.resume();
    }
    await feeding;
  } catch (error) {
    extraction.destroy();
    await feeding.catch((cause: unknown) => {
      if ((cause as { code?: string }).code === 'ERR_STREAM_PREMATURE_CLOSE') throw error;
      throw cause;
    });
    throw error;
  }

  async function place(file: Wanted, content: AsyncIterable<Uint8Array>): Promise<void> {
    let begun = false;
    try {
      if (file.sizeBytes <= smallFileBytes) {
        const chunks: Uint8Array[] = [];
        for await (const chunk of received(content)) chunks.push(chunk);
        const bytes = Buffer.concat(chunks);
        if (createHash('sha256').update(bytes).digest('hex') !== file.digest) throw new Changed(file.path);
        await writeSmallLocal(local, file.path, file, bytes);
      } else {
        await writeLocal(local, file.path, file, async (handle) => {
          begun = true;
          const hash = createHash('sha256');
          for await (const chunk of received(content)) {
            hash.update(chunk);
            await handle.appendFile(chunk);
          }
          return hash.digest('hex') === file.digest;
        });
      }
    } catch (error) {
      signal.throwIfAborted();
      // In the middle of an entry the archive cannot continue; before it, the file is left out.
      if (begun && !(error instanceof Changed)) throw error;
      onFile(file.path, error);
      return;
    }
    onFile(file.path, undefined);
  }

  async function* received(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of content) {
      signal.throwIfAborted();
      onBytes(chunk.length);
      yield chunk;
    }
  }
}

import { createWriteStream } from 'node:fs';
import { chmod, link, lstat, mkdir, rm, symlink, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Header } from 'tar-stream';
import type { ExtractOptions, LocalEntry } from '../contract/local-files.js';

/**
 * The archive comes from a sandbox and is not trusted: names that leave the root are refused, nothing is written through
 * a link, and links are made last, when nothing can follow them any more.
 */
export async function extract(
  root: string,
  archive: AsyncIterable<Uint8Array>,
  options: ExtractOptions,
): Promise<void> {
  const { default: tar } = await import('tar-stream');
  const extraction = tar.extract();
  const links: { path: string; target: string }[] = [];
  const directories: { path: string; mode: number }[] = [];
  const written = new Set<string>();
  await mkdir(root, { recursive: true });
  const feeding = pipeline(Readable.from(archive, { objectMode: true }), extraction);
  // Its failure ends the loop below; it is thrown after it.
  feeding.catch(() => {});
  try {
    for await (const entry of extraction) {
      await place(entry.header, entry as AsyncIterable<Uint8Array>);
      entry.resume();
    }
    await feeding;
  } catch (error) {
    extraction.destroy();
    // The source knows better than the parser why an archive ends early.
    await feeding.catch((cause) => {
      throw isPremature(cause) ? error : cause;
    });
    throw error;
  }
  for (const { path, target } of links) {
    await makeRoom(join(root, path));
    await symlink(target, join(root, path));
    options.onEntry?.(path, 0);
  }
  // Last and innermost first: a directory may not be writable once it has its mode.
  for (const { path, mode } of directories.reverse()) await chmod(join(root, path), mode & 0o7777);

  async function place(header: Header, content: AsyncIterable<Uint8Array>): Promise<void> {
    const type = header.type === 'contiguous-file' ? 'file' : header.type;
    const path = safeName(header.name);
    if (path === '' || (type !== 'file' && type !== 'directory' && type !== 'symlink' && type !== 'link'))
      return;
    if (isExcluded(path, type === 'link' ? 'file' : type)) return;
    const absolute = join(root, path);
    await makeParents(path);
    if (type === 'directory') {
      await makeDirectory(absolute);
      directories.push({ path, mode: header.mode ?? 0o755 });
      options.onEntry?.(path, 0);
    } else if (type === 'symlink') {
      links.push({ path, target: header.linkname ?? '' });
    } else if (type === 'link') {
      const source = safeName(header.linkname ?? '');
      // Its other name was left out, so there is nothing to link to here.
      if (!written.has(source))
        throw new Error(`${path} is a hard link to ${source}, which is not part of the download`);
      await makeRoom(absolute);
      await link(join(root, source), absolute);
      written.add(path);
      options.onEntry?.(path, 0);
    } else {
      await makeRoom(absolute);
      await writeContent(absolute, path, header, content);
      written.add(path);
    }
  }

  async function writeContent(
    absolute: string,
    path: string,
    header: Header,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    // Exclusive: should a link appear here meanwhile, it is not followed.
    const sink = createWriteStream(absolute, { flags: 'wx', mode: 0o600 });
    await pipeline(
      content,
      async function* count(source: AsyncIterable<Uint8Array>) {
        for await (const chunk of source) {
          yield chunk;
          options.onEntry?.(path, chunk.length);
        }
      },
      sink,
    );
    await chmod(absolute, (header.mode ?? 0o644) & 0o7777);
    if (header.mtime) await utimes(absolute, header.mtime, header.mtime);
    options.onEntry?.(path, 0);
  }

  /** Directories above an entry; each must be one, and no link to one. */
  async function makeParents(path: string): Promise<void> {
    const parts = path.split('/').slice(0, -1);
    let current = root;
    for (const part of parts) {
      current = join(current, part);
      await makeDirectory(current);
    }
  }

  function isExcluded(path: string, type: LocalEntry['type']): boolean {
    const parts = path.split('/');
    const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
    return (
      above.some((directory) => options.excludes(directory, 'directory')) || options.excludes(path, type)
    );
  }
}

async function makeDirectory(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory()) return;
  if (found) await rm(path, { force: true });
  await mkdir(path);
}

/** Removes a file or link that is in the way. A directory stays, and makes the write fail. */
async function makeRoom(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found && !found.isDirectory()) await rm(path, { force: true });
}

/** A name of the archive, relative to the root and without ways out of it. */
function safeName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const path = parts.join('/');
  const outside = resolve('/root-of-archive', path) !== `/root-of-archive${path === '' ? '' : `/${path}`}`;
  if (name.startsWith('/') || parts.includes('..') || outside || path.includes('\0')) {
    throw new Error(`The archive names a path outside the directory: ${JSON.stringify(name)}`);
  }
  return path;
}

function isPremature(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

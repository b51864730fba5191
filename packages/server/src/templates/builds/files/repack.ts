import type { Readable } from 'node:stream';
import type { ArchiveLimits } from '@svc/runtime/contract';
import { BuildError } from '../shared/build.js';
import type { CopyPlan, ListedEntry } from './copy-plan.js';
import { entryPath } from './entry-path.js';
import { addFile, type NewTarHeader, readTar, type TarHeader, unzipped, writeTar } from './tar.js';

/** Reads the headers of a stored archive. */
export async function listArchive(file: string, limits: ArchiveLimits): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  for await (const { header, skip } of readTar(unzipped(file, limits), { limits })) {
    const path = entryPath(header.name);
    if (path) entries.push({ path, directory: header.type === 'directory' });
    skip();
  }
  return entries;
}

/**
 * Gives the entries that a plan takes as a plain tar stream: named relative to the target, with no particular owner.
 * Fails with a {@link BuildError} where a hard link leads to a file that is not taken.
 */
export function repackArchive(file: string, plan: CopyPlan, limits: ArchiveLimits): Readable {
  return writeTar(async (packed) => {
    for await (const { header, content, skip } of readTar(unzipped(file, limits), { limits })) {
      const target = plan.targetOf(entryPath(header.name) ?? '');
      const renamed = target === undefined ? undefined : headerFor(header, target, plan);
      if (renamed?.type === 'file') await addFile(packed, renamed, content);
      else {
        skip();
        if (renamed !== undefined) packed.entry(renamed);
      }
    }
  });
}

function headerFor(header: TarHeader, name: string, plan: CopyPlan): NewTarHeader {
  const common = { name, mode: header.mode & 0o7777, uid: 0, gid: 0, mtime: header.mtime };
  switch (header.type) {
    case 'directory':
      return { ...common, type: 'directory' };
    case 'symlink':
      return { ...common, type: 'symlink', linkname: header.linkname };
    case 'link': {
      const linkname = plan.targetOf(entryPath(header.linkname) ?? '');
      if (linkname === undefined)
        throw new BuildError(`COPY: '${header.name}' is a hard link to a file that is not copied`);
      return { ...common, type: 'link', linkname };
    }
    default:
      return { ...common, type: 'file', size: header.size };
  }
}

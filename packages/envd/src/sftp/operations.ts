import type { Stats } from 'node:fs';
import {
  chmod,
  chown,
  lchown,
  link,
  lstat,
  lutimes,
  mkdir,
  opendir,
  readlink,
  realpath,
  rename,
  rmdir,
  statfs,
  symlink,
  truncate,
  unlink,
  utimes,
} from 'node:fs/promises';
import { enterDirectory, followLinks, type LinkOwners, statThroughLinks } from '../filesystem/links.js';
import type { Owner } from '../filesystem/make-directories.js';
import { errnoName } from '../filesystem/rpc-errors.js';
import type { OwnerNames } from '../users/index.js';
import { type Attributes, readAttributes, writeAttributes } from './attributes.js';
import { Handles } from './handles.js';
import { longName } from './long-name.js';
import { appends, openFile } from './open-file.js';
import { type FieldReader, packet, string, uint32, uint64 } from './packet.js';
import { absolutePath, expandPath, joinPath, normalizePath } from './paths.js';
import { statusPacket } from './status.js';

/** As whom a session works: where relative paths start, and to whom belongs what is made. */
export interface SftpUser {
  home: string;
  owner: Owner;
  linkOwners: LinkOwners;
  names(): Promise<OwnerNames>;
}

/** Bytes of one read, and entries of one answer about a directory. */
const MAX_READ = 256 * 1024;
const MAX_ENTRIES = 64;

const HANDLE = 102;
const DATA = 103;
const NAME = 104;
const ATTRIBUTES = 105;
const EXTENDED_REPLY = 201;

type Operation = (id: number, reader: FieldReader) => Promise<Buffer>;

/** What a client can ask for in one session. */
export function createOperations(user: SftpUser) {
  const handles = new Handles();
  const { owner, linkOwners } = user;
  const pathOf = (reader: FieldReader) => absolutePath(reader.string(), user.home);
  const done = (id: number) => statusPacket(id, 'ok');
  const named = (id: number, name: Buffer) =>
    packet(NAME, uint32(id), uint32(1), string(name), string(name), uint32(0));
  const attributes = (id: number, stats: Stats) => packet(ATTRIBUTES, uint32(id), writeAttributes(stats));
  const resolved = async (id: number, path: Buffer) =>
    named(id, await realpath(path, { encoding: 'buffer' }).catch(() => normalizePath(path)));

  const operations: Record<number, Operation> = {
    // OPEN
    async 3(id, reader) {
      const path = pathOf(reader);
      const flags = reader.uint32();
      const { mode = 0o666 } = readAttributes(reader);
      const file = await openFile({ path, flags, mode, owner, linkOwners });
      const name = await handles.add({ kind: 'file', file, append: appends(flags) });
      return packet(HANDLE, uint32(id), string(name));
    },
    // CLOSE
    async 4(id, reader) {
      await handles.close(reader.string());
      return done(id);
    },
    // READ
    async 5(id, reader) {
      const { file } = handles.file(reader.string());
      const position = reader.uint64();
      const buffer = Buffer.allocUnsafe(Math.min(reader.uint32(), MAX_READ));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0 && buffer.length > 0) return statusPacket(id, 'eof');
      return packet(DATA, uint32(id), string(buffer.subarray(0, bytesRead)));
    },
    // WRITE
    async 6(id, reader) {
      const { file, append } = handles.file(reader.string());
      const position = reader.uint64();
      const data = reader.string();
      for (let at = 0; at < data.length; ) {
        const { bytesWritten } = await file.write(data, at, data.length - at, append ? null : position + at);
        at += bytesWritten;
      }
      return done(id);
    },
    // LSTAT, FSTAT
    7: async (id, reader) => attributes(id, await lstat(pathOf(reader))),
    8: async (id, reader) => attributes(id, await handles.file(reader.string()).file.stat()),
    // SETSTAT
    async 9(id, reader) {
      const path = pathOf(reader);
      const wanted = readAttributes(reader);
      await followLinks(path, linkOwners, async (at) => {
        if (wanted.size !== undefined) await truncate(at, wanted.size);
        if (wanted.owner) await chown(at, wanted.owner.uid, wanted.owner.gid);
        if (wanted.mode !== undefined) await chmod(at, wanted.mode);
        if (wanted.times) await utimes(at, wanted.times.accessed, wanted.times.modified);
      });
      return done(id);
    },
    // FSETSTAT
    async 10(id, reader) {
      const { file } = handles.file(reader.string());
      const wanted = readAttributes(reader);
      if (wanted.size !== undefined) await file.truncate(wanted.size);
      if (wanted.owner) await file.chown(wanted.owner.uid, wanted.owner.gid);
      if (wanted.mode !== undefined) await file.chmod(wanted.mode);
      if (wanted.times) await file.utimes(wanted.times.accessed, wanted.times.modified);
      return done(id);
    },
    // OPENDIR
    async 11(id, reader) {
      const path = pathOf(reader);
      const dir = await enterDirectory(path, (at) =>
        opendir(at as Buffer, { encoding: 'buffer' as never, bufferSize: MAX_ENTRIES }),
      );
      return packet(HANDLE, uint32(id), string(await handles.add({ kind: 'directory', dir, path })));
    },
    // READDIR
    async 12(id, reader) {
      const { dir, path } = handles.directory(reader.string());
      const names = await user.names();
      const entries: Buffer[] = [];
      while (entries.length < MAX_ENTRIES) {
        const found = await dir.read();
        if (found === null) break;
        const name = found.name as unknown as Buffer;
        // What vanishes while it is listed is left out.
        const stats = await lstat(joinPath(path, name)).catch(() => undefined);
        if (stats)
          entries.push(
            Buffer.concat([string(name), string(longName(name, stats, names)), writeAttributes(stats)]),
          );
      }
      if (entries.length === 0) return statusPacket(id, 'eof');
      return packet(NAME, uint32(id), uint32(entries.length), ...entries);
    },
    // REMOVE
    async 13(id, reader) {
      await unlink(pathOf(reader));
      return done(id);
    },
    // MKDIR
    async 14(id, reader) {
      const path = pathOf(reader);
      await mkdir(path, readAttributes(reader).mode ?? 0o777);
      if (owner) await lchown(path, owner.uid, owner.gid);
      return done(id);
    },
    // RMDIR
    async 15(id, reader) {
      await rmdir(pathOf(reader));
      return done(id);
    },
    // REALPATH
    16: (id, reader) => resolved(id, pathOf(reader)),
    // STAT
    17: async (id, reader) => attributes(id, await statThroughLinks(pathOf(reader))),
    // RENAME: what is at the destination is not replaced.
    async 18(id, reader) {
      const from = pathOf(reader);
      const to = pathOf(reader);
      if (await isThere(to)) return statusPacket(id, 'failure', 'the destination exists');
      await rename(from, to);
      return done(id);
    },
    // READLINK
    19: async (id, reader) => named(id, await readlink(pathOf(reader), { encoding: 'buffer' })),
    // SYMLINK: the target first, as every client has it, against the draft.
    async 20(id, reader) {
      const target = reader.string();
      const path = pathOf(reader);
      await symlink(target, path);
      if (owner) await lchown(path, owner.uid, owner.gid);
      return done(id);
    },
    // EXTENDED
    async 200(id, reader) {
      const name = reader.string().toString('latin1');
      const extension = Object.hasOwn(extensions, name) ? extensions[name] : undefined;
      return extension ? extension(id, reader) : statusPacket(id, 'unsupported');
    },
  };

  const extensions: Record<string, Operation | undefined> = {
    async 'posix-rename@openssh.com'(id, reader) {
      const from = pathOf(reader);
      await rename(from, pathOf(reader));
      return done(id);
    },
    async 'hardlink@openssh.com'(id, reader) {
      const from = pathOf(reader);
      await link(from, pathOf(reader));
      return done(id);
    },
    async 'fsync@openssh.com'(id, reader) {
      await handles.file(reader.string()).file.sync();
      return done(id);
    },
    async 'lsetstat@openssh.com'(id, reader) {
      const path = pathOf(reader);
      const wanted: Attributes = readAttributes(reader);
      if (wanted.owner) await lchown(path, wanted.owner.uid, wanted.owner.gid);
      if (wanted.times) await lutimes(path, wanted.times.accessed, wanted.times.modified);
      // Links have no size and no mode that could be set.
      return done(id);
    },
    async 'statvfs@openssh.com'(id, reader) {
      const { bsize, blocks, bfree, bavail, files, ffree } = await followLinks(
        pathOf(reader),
        linkOwners,
        (at) => statfs(at),
      );
      const facts = [bsize, bsize, blocks, bfree, bavail, files, ffree, ffree, 0, 0, 255];
      return packet(EXTENDED_REPLY, uint32(id), ...facts.map(uint64));
    },
    async 'limits@openssh.com'(id) {
      return packet(EXTENDED_REPLY, uint32(id), ...[MAX_READ + 1024, MAX_READ, MAX_READ, 512].map(uint64));
    },
    'expand-path@openssh.com': (id, reader) => resolved(id, expandPath(reader.string(), user.home)),
  };

  return {
    /** Answers one request. @throws the system's error, or BadMessageError */
    run(type: number, id: number, reader: FieldReader): Promise<Buffer> {
      const operation = Object.hasOwn(operations, type) ? operations[type] : undefined;
      return operation ? operation(id, reader) : Promise.resolve(statusPacket(id, 'unsupported'));
    },
    close: () => handles.closeAll(),
  };
}

async function isThere(path: Buffer): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return false;
    throw error;
  }
}

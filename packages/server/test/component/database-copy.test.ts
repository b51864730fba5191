import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyStoppedDatabase, putBackDatabase, readStoredServer } from '../../src/maintenance/upgrade.js';
import { migrations } from '../../src/storage/migrations/index.js';
import { openStorage } from '../../src/storage/open.js';
import { dialect } from '../support/server-storage.js';

/** A user without rights, such as the server's. */
const OWNER = 65_534;

describe.skipIf(process.getuid?.() !== 0 || dialect !== 'sqlite')(
  'the database of a server that is upgraded',
  () => {
    let dataDir: string;
    let server: string;
    let copies: string;
    const giveAway = () => execFileSync('chown', ['-R', '-h', `${OWNER}:${OWNER}`, server]);
    const read = (name: string) => readFile(path.join(server, name), 'utf8');

    beforeEach(async () => {
      dataDir = await mkdtemp(path.join(tmpdir(), 'svc-database-copy-'));
      await chmod(dataDir, 0o711);
      server = path.join(dataDir, 'server');
      copies = path.join(dataDir, 'copies');
      for (const directory of [server, copies]) await mkdir(directory, { mode: 0o700 });
      await writeFile(path.join(server, 'node-id'), 'n');
      giveAway();
    });
    afterEach(() => rm(dataDir, { recursive: true, force: true }));

    it('is looked at with its steps and sandboxes, and stays as it is', async () => {
      const { db } = await openStorage({ kind: 'sqlite' }, server);
      await db.destroy();
      giveAway();
      const before = await readFile(path.join(server, 'server.db'));
      expect(await readStoredServer(dataDir)).toMatchObject({
        directory: server,
        owner: { uid: OWNER },
        database: { migrations: migrations.map(({ id }) => id), sandboxes: [], sizeBytes: before.length },
      });
      expect(await readFile(path.join(server, 'server.db'))).toEqual(before);
    });

    it('is not read into memory whole by root, with any content', async () => {
      const { db } = await openStorage({ kind: 'sqlite' }, server);
      // Longer than any answer, in a column that is read.
      await sql`insert into kysely_migration (name, timestamp) values (printf('%.*c', 70000000, 'x'), '')`.execute(
        db,
      );
      await db.destroy();
      giveAway();
      await expect(readStoredServer(dataDir)).rejects.toThrow('a line has more than');
    });

    it('comes back with its log, and what took its place is kept beside', async () => {
      await writeFile(path.join(server, 'server.db'), 'old');
      await writeFile(path.join(server, 'server.db-wal'), 'old log');
      giveAway();
      expect(await copyStoppedDatabase(dataDir, copies)).toBe(true);
      await writeFile(path.join(server, 'server.db'), 'new');
      await writeFile(path.join(server, 'server.db-wal'), 'new log');
      await writeFile(path.join(server, 'server.db-shm'), 'index');
      // The second time is that of a command which was killed before.
      for (const _ of [1, 2]) {
        expect(await putBackDatabase(dataDir, copies)).toBe(path.join(server, 'server.db.replaced'));
        expect([await read('server.db'), await read('server.db-wal')]).toEqual(['old', 'old log']);
        expect([await read('server.db.replaced'), await read('server.db.replaced-wal')]).toEqual([
          'new',
          'new log',
        ]);
      }
      expect((await readdir(server)).filter((name) => /shm|put-back/.test(name))).toEqual([]);
      const { uid, mode } = await lstat(path.join(server, 'server.db'));
      expect({ uid, mode: mode & 0o777 }).toEqual({ uid: OWNER, mode: 0o600 });
      // The next upgrade begins anew.
      expect(await copyStoppedDatabase(dataDir, copies)).toBe(true);
      expect((await readdir(server)).sort()).toEqual(['node-id', 'server.db', 'server.db-wal']);
    });

    it('leaves the log of the newer one out, where the older one had none', async () => {
      await writeFile(path.join(server, 'server.db'), 'old');
      giveAway();
      await copyStoppedDatabase(dataDir, copies);
      await writeFile(path.join(server, 'server.db-wal'), 'new log');
      await putBackDatabase(dataDir, copies);
      expect((await readdir(server)).sort()).toEqual([
        'node-id',
        'server.db',
        'server.db.replaced',
        'server.db.replaced-wal',
      ]);
    });

    it('is none with PostgreSQL, and of a copy before nothing is left then', async () => {
      await writeFile(path.join(copies, 'server.db'), 'of an earlier try');
      expect(await copyStoppedDatabase(dataDir, copies)).toBe(false);
      await expect(putBackDatabase(dataDir, copies)).rejects.toThrow('There is no copy');
    });

    it.each(['server.db', 'server.db-wal'])(
      'is copied of files alone: no link, pipe or device as %s',
      async (name) => {
        // No database: SQLite, closing it some time later, would remove what stands in the place of its log.
        await writeFile(path.join(server, 'server.db'), 'a file');
        const file = path.join(server, name);
        await rm(file, { force: true });
        for (const make of [
          ['ln', '-s', '/dev/zero', file],
          ['mkfifo', file],
          ['mknod', file, 'c', '1', '5'],
          ['mkdir', file],
        ]) {
          execFileSync(make[0]!, make.slice(1));
          giveAway();
          await expect(copyStoppedDatabase(dataDir, copies)).rejects.toThrow(`${name} is no file`);
          if (name === 'server.db') expect((await readStoredServer(dataDir)).database).toBeUndefined();
          else await expect(readStoredServer(dataDir)).rejects.toThrow('server.db-wal is no file');
          expect(await readdir(copies)).not.toContain(name);
          await rm(file, { recursive: true });
        }
      },
    );

    it('is not a way for the user of the server to files of root', async () => {
      const secret = path.join(dataDir, 'of-root');
      await writeFile(secret, 'of root', { mode: 0o600 });
      await symlink(secret, path.join(server, 'server.db'));
      await expect(copyStoppedDatabase(dataDir, copies)).rejects.toThrow('is no file');
      expect(await readdir(copies)).not.toContain('server.db');

      await rm(path.join(server, 'server.db'));
      await writeFile(path.join(server, 'server.db'), 'old');
      await chown(path.join(server, 'server.db'), OWNER, OWNER);
      await copyStoppedDatabase(dataDir, copies);
      for (const name of ['server.db.put-back', 'server.db.replaced', 'server.db-shm'])
        await symlink(secret, path.join(server, name));
      await putBackDatabase(dataDir, copies);
      expect(await readFile(secret, 'utf8')).toBe('of root');
      expect(await read('server.db')).toBe('old');
    });
  },
);

import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openArchive } from '../../src/maintenance/backup/archive-reader.js';
import { ArchiveWriter, SUMS } from '../../src/maintenance/backup/archive-writer.js';
import {
  describeBackup,
  parseDescription,
  parseStoreMember,
  storeMember,
} from '../../src/maintenance/backup/description.js';
import { formatHeader, parseHeader } from '../../src/maintenance/backup/member.js';
import { checkBackup } from '../../src/maintenance/backup/restore-backup.js';
import { migrations } from '../../src/storage/migrations/index.js';

describe('the archive of a backup', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'backup-archive-'));
    path = join(directory, 'b.tar');
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  async function write(members: [string, string | Buffer][], to = path): Promise<void> {
    const writer = await ArchiveWriter.create(to, 0);
    try {
      for (const [name, content] of members) await writer.add(name, Readable.from([Buffer.from(content)]));
      await writer.finish();
    } finally {
      await writer.close();
    }
  }

  const small: [string, string][] = [
    ['a', 'one'],
    ['store/b', 'x'.repeat(1_000)],
    ['empty', ''],
  ];

  it('gives back what was written, and is a plain tar file of its owner alone', async () => {
    await write(small);
    const archive = await openArchive(path);
    expect(archive.names).toEqual(['a', 'store/b', 'empty']);
    for (const [name, content] of small) {
      expect(await archive.text(name)).toBe(content);
      expect(await text(archive.read(name))).toBe(content);
    }
    await archive.close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    execFileSync('tar', ['-xf', path, '-C', directory]);
    expect(execFileSync('sha256sum', ['-c', SUMS], { cwd: directory, encoding: 'utf8' })).toBe(
      'a: OK\nstore/b: OK\nempty: OK\n',
    );
  });

  it('with many members is read without a warning of listeners that leak', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    try {
      await write(Array.from({ length: 40 }, (_, at) => [`m${at}`, `content ${at}`]));
      const archive = await openArchive(path);
      for (const name of archive.names) expect(await text(archive.read(name))).toMatch(/^content/);
      await archive.close();
      // Warnings are told in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('warning', note);
    }
    expect(warnings).toEqual([]);
  });

  it('has its name only when it is whole, and never takes that of another', async () => {
    const writer = await ArchiveWriter.create(path, 0);
    await writer.add('a', Buffer.from('one'));
    expect(await readdir(directory)).toEqual([expect.stringMatching(/^b\.tar\.[0-9a-f]{10}\.part$/)]);
    await writer.close();
    expect(await readdir(directory)).toEqual([]);
    await write(small);
    const before = await readFile(path);
    await expect(write([['other', 'content']])).rejects.toThrow('exists already');
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(directory)).toEqual(['b.tar']);
  });

  it('is refused wherever it ends too early', async () => {
    await write(small);
    const whole = await readFile(path);
    for (let size = 0; size < whole.length; size += 256) {
      await writeFile(path, whole);
      await truncate(path, size);
      await expect(openArchive(path), `${size} bytes`).rejects.toThrow(
        /is refused: .*(no backup|its end is missing|does not end)/,
      );
    }
  });

  it('is refused when any byte of it is another', async () => {
    await write(small);
    const whole = await readFile(path);
    for (let at = 0; at < whole.length; at += 7) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0x01;
      await writeFile(path, changed);
      // The padding of a member is no content, and the fields of tar for owner and time are not read.
      const opened = await openArchive(path).then(
        async (archive) => {
          const contents = await Promise.all(archive.names.map((name) => archive.text(name)));
          await archive.close();
          return contents;
        },
        (error: Error) => error.message,
      );
      if (typeof opened === 'string') expect(opened).toContain('is refused');
      else expect(opened, `byte ${at}`).toEqual(small.map(([, content]) => content));
    }
  });

  it('is refused when a member was changed after it was checked', async () => {
    await write(small);
    const archive = await openArchive(path);
    const changed = await readFile(path);
    changed[512]! ^= 0x01;
    await writeFile(path, changed);
    await expect(text(archive.read('a'))).rejects.toThrow('its checksum is another');
    await archive.close();
  });

  it('of any other program is refused, as are names that no backup has', async () => {
    await writeFile(path, 'no archive at all');
    await expect(openArchive(path)).rejects.toThrow('it is no backup');
    execFileSync('tar', ['-cf', join(directory, 'other.tar'), '-C', directory, 'b.tar']);
    await expect(openArchive(join(directory, 'other.tar'))).rejects.toThrow('is refused');
    const description = JSON.stringify(
      describeBackup({
        version: '1',
        createdAt: 'now',
        database: 'sqlite',
        migrations: [],
        hasKey: true,
        missing: [],
      }),
    );
    const hostile = [
      'store/checkpoint/../../../etc/cron.d/x.tar.gz',
      'store/checkpoint/..tar.gz',
      'store/instance/abc.tar.gz',
      'store/base/trixie.tar.gz',
      'store/volume/a/b.tar.gz',
      '/etc/passwd',
    ];
    for (const [at, name] of hostile.entries()) {
      const file = join(directory, `hostile-${at}.tar`);
      await write(
        [
          ['backup.json', description],
          ['server.tar.gz', ''],
          [name, ''],
        ],
        file,
      );
      await expect(checkBackup({ file }), name).rejects.toThrow('it has an entry that no backup has');
    }
    const file = join(directory, 'first.tar');
    await write(
      [
        ['server.tar.gz', ''],
        ['backup.json', description],
      ],
      file,
    );
    await expect(checkBackup({ file })).rejects.toThrow('does not begin as a backup does');
    await write(
      [
        ['backup.json', description],
        ['server.tar.gz', ''],
        ['server.tar.gz', ''],
      ],
      join(directory, 'two.tar'),
    );
    await expect(checkBackup({ file: join(directory, 'two.tar') })).rejects.toThrow('is refused');
  });
});

describe('headers of members', () => {
  it.each([0, 1, 8 ** 11 - 1, 8 ** 11, 2 ** 45])('keep a size of %d', (sizeBytes) => {
    const header = formatHeader({ name: 'store/volume/v.tar.gz', sizeBytes }, 1_700_000_000_000);
    expect(parseHeader(header)).toEqual({ name: 'store/volume/v.tar.gz', sizeBytes });
  });

  it('of links and devices are none', () => {
    const header = formatHeader({ name: 'a', sizeBytes: 0 }, 0);
    for (const type of ['1', '2', '3', '5', 'x', 'L']) {
      const other = Buffer.from(header);
      // The sum counts: it stays right.
      other.write(type, 156);
      other[101]! -= type.charCodeAt(0) - 0x30;
      expect(parseHeader(other)).toBeUndefined();
    }
  });
});

describe('names of members', () => {
  it.each([
    { kind: 'layer', id: '0f3a' },
    { kind: 'checkpoint', id: 'pause-1-2' },
    { kind: 'base', id: 'trixie-0123456789ab-0123456789ab' },
  ] as const)('lead back to $kind', (entry) => expect(parseStoreMember(storeMember(entry))).toEqual(entry));
});

describe('the description of a backup', () => {
  const good = describeBackup({
    version: '0.1.0',
    createdAt: '2026-01-01T00:00:00.000Z',
    database: 'sqlite',
    migrations: migrations.map(({ id }) => id),
    hasKey: true,
    missing: [],
  });

  it('is read back', () => expect(parseDescription(JSON.stringify(good))).toEqual(good));

  it('of a newer version is refused with what is newer', () => {
    expect(() => parseDescription(JSON.stringify({ ...good, format: 99 }))).toThrow('its format is 99');
    const newer = { ...good, migrations: [...good.migrations, '999-later'] };
    expect(() => parseDescription(JSON.stringify(newer))).toThrow('999-later');
  });

  it.each([
    '',
    'null',
    '[]',
    '{}',
    JSON.stringify({ ...good, missing: [1] }),
    JSON.stringify({ ...good, database: 'x' }),
  ])('is refused as %j', (content) =>
    expect(() => parseDescription(content)).toThrow('is not that of a backup'),
  );
});

import { EventType } from '@svc/daemon/gen';
import { expect, test } from 'vitest';
import { classifyBatch, type Observation } from '../../../src/filesystem/watch/classify.js';
import { EventBuffer } from '../../../src/filesystem/watch/event-buffer.js';
import { keepaliveIntervalMs } from '../../../src/filesystem/watch/keepalive.js';
import { isNetworkType, mountTypeOf } from '../../../src/filesystem/watch/network-mounts.js';
import type { Snapshot } from '../../../src/filesystem/watch/snapshot.js';

const { CREATE, WRITE, REMOVE, RENAME, CHMOD } = EventType;
const snapshot = (id: string, more: Partial<Snapshot> = {}): Snapshot => ({
  id,
  directory: false,
  size: 1n,
  mtime: 1n,
  ctime: 1n,
  access: 'rw',
  unreportedContent: false,
  ...more,
});
const seen = (more: Partial<Observation>): Observation => ({
  before: undefined,
  after: undefined,
  renames: 0,
  changes: 0,
  followedByArrival: false,
  ...more,
});
const types = (...batch: Partial<Observation>[]) =>
  classifyBatch(batch.map(seen)).map((verdict) => verdict.types);

const a = snapshot('a');
test.each([
  ['a new file', { after: a, renames: 1 }, [CREATE]],
  ['a new file that was written', { after: a, renames: 1, changes: 1 }, [CREATE, WRITE]],
  ['a new empty file', { after: snapshot('a', { size: 0n }), renames: 1, changes: 1 }, [CREATE]],
  ['a file that is gone', { before: a, renames: 1 }, [REMOVE]],
  ['a file that came and went', { renames: 2, changes: 1 }, [CREATE, REMOVE]],
  ['a temporary that was moved', { renames: 2, changes: 1, followedByArrival: true }, [CREATE, RENAME]],
  ['a report about nothing', { renames: 1 }, []],
  ['a write', { before: a, after: snapshot('a', { mtime: 2n, ctime: 2n }), changes: 1 }, [WRITE]],
  ['a chmod', { before: a, after: snapshot('a', { access: 'r', ctime: 2n }), changes: 1 }, [CHMOD]],
  [
    'both',
    { before: a, after: snapshot('a', { access: 'r', size: 5n, ctime: 2n }), changes: 2 },
    [CHMOD, WRITE],
  ],
  ['another attribute', { before: a, after: snapshot('a', { ctime: 2n }), changes: 1 }, [CHMOD]],
  ['something moved over it', { before: a, after: snapshot('b'), renames: 1 }, [CREATE]],
  ['it was made anew', { before: a, after: snapshot('b'), renames: 2 }, [REMOVE, CREATE]],
  [
    'the write that the first look had seen',
    { before: snapshot('a', { unreportedContent: true }), after: a, changes: 1 },
    [WRITE],
  ],
  ['nothing new', { before: a, after: a, changes: 1 }, []],
] as [string, Partial<Observation>, EventType[]][])('%s', (_, observation, expected) => {
  expect(types(observation)).toEqual([expected]);
});

test('one inode leaving a name and coming to another is a rename', () => {
  expect(types({ before: a, renames: 1 }, { after: a, renames: 1 })).toEqual([[RENAME], [CREATE]]);
  expect(types({ before: a, renames: 1 }, { before: snapshot('b'), after: a, renames: 1 })).toEqual([
    [RENAME],
    [CREATE],
  ]);
});

test('the type of a mount is that of the longest and latest mount point; the root does not count', () => {
  const table =
    'a / 9p rw 0 0\nb /mnt nfs4 rw 0 0\nc /mnt/my\\040disk ext4 rw 0 0\nd /x ext4 rw 0 0\ne /x fuse.sshfs rw 0 0\n';
  expect(mountTypeOf('/home', table)).toBeUndefined();
  expect(mountTypeOf('/mnt/a', table)).toBe('nfs4');
  expect(mountTypeOf('/mnt', table)).toBe('nfs4');
  expect(mountTypeOf('/mnt/my disk/a', table)).toBe('ext4');
  expect(mountTypeOf('/mntother', table)).toBeUndefined();
  expect(mountTypeOf('/x/y', table)).toBe('fuse.sshfs');
});

test('network types', () => {
  for (const type of ['nfs', 'nfs4', 'cifs', '9p', 'fuse.sshfs', 'fuse'])
    expect(isNetworkType(type)).toBe(true);
  for (const type of ['ext4', 'overlay', 'tmpfs', 'fuse.fuse-overlayfs', undefined])
    expect(isNetworkType(type)).toBe(false);
});

test.each([
  [null, 90_000],
  ['5', 5_000],
  ['0', 90_000],
  ['-3', 90_000],
  ['x', 90_000],
  ['1.5', 90_000],
])('keepalive header %j means %i ms', (header, expected) => {
  expect(keepaliveIntervalMs(header)).toBe(expected);
});

test('a buffer refuses what does not fit, and a failure stays', async () => {
  const buffer = new EventBuffer<number>(2);
  expect([buffer.push(1), buffer.push(2), buffer.push(3)]).toEqual([true, true, false]);
  expect(buffer.drain()).toEqual([1, 2]);
  expect(await buffer.wait(1)).toBe(false);
  const waiting = buffer.wait(60_000);
  buffer.push(4);
  expect(await waiting).toBe(true);
  buffer.fail(new Error('first'));
  buffer.fail(new Error('second'));
  expect(() => buffer.drain()).toThrow('first');
  expect(() => buffer.drain()).toThrow('first');
  expect(buffer.push(5)).toBe(false);
});

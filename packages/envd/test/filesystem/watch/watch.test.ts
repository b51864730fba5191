import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { EventType, type FilesystemEvent } from '@svc/daemon/gen';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectCode, startTestDaemon, type TestDaemon } from '../test-daemon.js';

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startTestDaemon();
});
afterEach(() => daemon[Symbol.asyncDispose]());

const inHome = (...names: string[]) => join(daemon.home, ...names);
type Options = { recursive?: boolean; includeEntry?: boolean; path?: string };

/** Starts a polling watcher; `until` collects texts like `CREATE a` until the last one wanted has come. */
async function watcher({ path = '', ...options }: Options = {}) {
  const { watcherId } = await daemon.client.createWatcher({ path, ...options });
  const events: FilesystemEvent[] = [];
  return {
    watcherId,
    events,
    async until(last: string): Promise<string[]> {
      const texts = () => events.map(({ type, name }) => `${EventType[type]} ${name}`);
      await expect
        .poll(
          async () => {
            events.push(...(await daemon.client.getWatcherEvents({ watcherId })).events);
            return texts();
          },
          { timeout: 100_000, interval: 20 },
        )
        .toContain(last);
      return texts();
    },
  };
}

/** Inotify watches of the daemon, by the kernel's count. */
async function watchCount(): Promise<number> {
  let count = 0;
  for (const fd of await readdir(`/proc/${daemon.pid}/fdinfo`)) {
    const text = await readFile(`/proc/${daemon.pid}/fdinfo/${fd}`, 'utf8').catch(() => '');
    count += text.split('\n').filter((line) => line.startsWith('inotify ')).length;
  }
  return count;
}

describe('events', () => {
  test('creating, writing, changing the mode and removing', async () => {
    const seen = await watcher();
    await writeFile(inHome('a b\n'), '');
    await seen.until('CREATE a b\n');
    await appendFile(inHome('a b\n'), 'text');
    await seen.until('WRITE a b\n');
    await chmod(inHome('a b\n'), 0o600);
    await seen.until('CHMOD a b\n');
    await rm(inHome('a b\n'));
    expect(await seen.until('REMOVE a b\n')).toEqual([
      'CREATE a b\n',
      'WRITE a b\n',
      'CHMOD a b\n',
      'REMOVE a b\n',
    ]);
  });

  test('a new file with content is created, then written', async () => {
    const seen = await watcher();
    await writeFile(inHome('f'), 'content');
    expect(await seen.until('WRITE f')).toEqual(['CREATE f', 'WRITE f']);
  });

  test('renaming', async () => {
    await writeFile(inHome('old'), 'x');
    const seen = await watcher();
    await rename(inHome('old'), inHome('new'));
    expect(await seen.until('CREATE new')).toEqual(['RENAME old', 'CREATE new']);
  });

  test('saving by renaming over the old file', async () => {
    await writeFile(inHome('doc'), 'old');
    const seen = await watcher();
    await writeFile(inHome('doc.tmp'), 'new');
    await rename(inHome('doc.tmp'), inHome('doc'));
    const texts = await seen.until('CREATE doc');
    expect(texts).toContain('RENAME doc.tmp');
    expect(texts).not.toContain('REMOVE doc');
  });

  test('what happens below is not reported unless asked for', async () => {
    await mkdir(inHome('sub'));
    const seen = await watcher();
    await writeFile(inHome('sub/inner'), 'x');
    await writeFile(inHome('last'), '');
    expect(await seen.until('CREATE last')).toEqual(['CREATE last']);
  });

  test('entries come with the events that have one', async () => {
    const seen = await watcher({ includeEntry: true });
    await writeFile(inHome('f'), 'four');
    await seen.until('WRITE f');
    await rm(inHome('f'));
    await seen.until('REMOVE f');
    const written = seen.events.find((event) => event.type === EventType.WRITE);
    expect(written?.entry).toMatchObject({ name: 'f', path: inHome('f'), size: 4n });
    expect(seen.events.at(-1)).toMatchObject({ type: EventType.REMOVE });
    expect(seen.events.at(-1)?.entry).toBeUndefined();
  });
});

describe('recursive', () => {
  test('directories that come later are watched, and nothing in them is missed', async () => {
    const seen = await watcher({ recursive: true });
    await mkdir(inHome('a/b/c'), { recursive: true });
    await writeFile(inHome('a/b/c/f'), '');
    const texts = await seen.until('CREATE a/b/c/f');
    expect(texts).toEqual(['CREATE a', 'CREATE a/b', 'CREATE a/b/c', 'CREATE a/b/c/f']);
    await appendFile(inHome('a/b/c/f'), 'x');
    await seen.until('WRITE a/b/c/f');
  });

  test('a directory that is renamed is watched under its new name', async () => {
    await mkdir(inHome('old/sub'), { recursive: true });
    await writeFile(inHome('old/sub/f'), '');
    const seen = await watcher({ recursive: true });
    await rename(inHome('old'), inHome('new'));
    await seen.until('CREATE new');
    await appendFile(inHome('new/sub/f'), 'x');
    expect(await seen.until('WRITE new/sub/f')).toEqual(['RENAME old', 'CREATE new', 'WRITE new/sub/f']);
  });

  test('removing a tree reports each entry once', async () => {
    await mkdir(inHome('t/sub'), { recursive: true });
    await writeFile(inHome('t/sub/f'), '');
    const seen = await watcher({ recursive: true });
    await rm(inHome('t'), { recursive: true });
    expect(await seen.until('REMOVE t')).toEqual(['REMOVE t/sub/f', 'REMOVE t/sub', 'REMOVE t']);
  });

  test('links to directories are not entered', async () => {
    await mkdir(inHome('real'));
    await mkdir(inHome('root'));
    await symlink('../real', inHome('root/link'));
    await symlink('.', inHome('root/self'));
    const seen = await watcher({ recursive: true, path: 'root' });
    await writeFile(inHome('real/x'), '');
    await writeFile(inHome('root/last'), '');
    expect(await seen.until('CREATE last')).toEqual(['CREATE last']);
  });
});

describe('WatchDir', () => {
  test('starts, reports, keeps alive, and releases its watches when the caller leaves', async () => {
    await mkdir(inHome('sub'));
    const before = await watchCount();
    const leave = new AbortController();
    const stream = daemon.client
      .watchDir(
        { path: '', recursive: true },
        { signal: leave.signal, headers: { 'Keepalive-Ping-Interval': '1' } },
      )
      [Symbol.asyncIterator]();
    expect((await stream.next()).value?.event.case).toBe('start');
    expect(await watchCount()).toBe(before + 2);
    await writeFile(inHome('sub/f'), '');
    let next = (await stream.next()).value?.event;
    // One may come before, where all this takes more than a second.
    while (next?.case === 'keepalive') next = (await stream.next()).value?.event;
    expect(next).toMatchObject({
      case: 'filesystem',
      value: { name: 'sub/f', type: EventType.CREATE },
    });
    expect((await stream.next()).value?.event.case).toBe('keepalive');
    leave.abort();
    await expectCode(stream.next(), Code.Canceled);
    await expect.poll(watchCount, { timeout: 100_000 }).toBe(before);
  });

  test('a deadline ends the stream', async () => {
    const stream = daemon.client.watchDir({ path: '' }, { timeoutMs: 2_000 })[Symbol.asyncIterator]();
    await stream.next();
    await expectCode(stream.next(), Code.DeadlineExceeded);
  });

  test('refuses what is no directory', async () => {
    await writeFile(inHome('file'), '');
    const first = (path: string) => daemon.client.watchDir({ path })[Symbol.asyncIterator]().next();
    await expectCode(first('nope'), Code.NotFound);
    await expectCode(first('file'), Code.InvalidArgument);
    await expectCode(first('~bob'), Code.InvalidArgument);
    await expectCode(daemon.client.createWatcher({ path: 'nope' }), Code.NotFound);
    await expectCode(daemon.client.createWatcher({ path: 'file' }), Code.InvalidArgument);
  });
});

describe('polling watchers', () => {
  test('have an id of their form, and are gone once removed', async () => {
    const before = await watchCount();
    const { watcherId } = await daemon.client.createWatcher({ path: '' });
    expect(watcherId).toMatch(/^w[0-9a-z]{20}$/);
    expect((await daemon.client.getWatcherEvents({ watcherId })).events).toEqual([]);
    await daemon.client.removeWatcher({ watcherId });
    expect(await watchCount()).toBe(before);
    await expectCode(daemon.client.getWatcherEvents({ watcherId }), Code.NotFound);
    await expectCode(daemon.client.removeWatcher({ watcherId }), Code.NotFound);
  });

  test('fail for good when their events are not taken', async () => {
    const { watcherId } = await daemon.client.createWatcher({ path: '' });
    for (let i = 0; i < 10_100; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, n) => writeFile(inHome(`f${i + n}`), '')));
    }
    await writeFile(inHome('one-more'), '');
    await expect
      .poll(
        () =>
          daemon.client.getWatcherEvents({ watcherId }).then(
            () => 'events',
            (error) => error.code,
          ),
        {
          timeout: 100_000,
        },
      )
      .toBe(Code.Internal);
    await expectCode(daemon.client.getWatcherEvents({ watcherId }), Code.Internal);
    await daemon.client.removeWatcher({ watcherId });
  });
});

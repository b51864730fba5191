import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { check, type Draft } from '../../../case.js';
import { stream, streamFails, unaryFails, unaryOk } from '../../../wire/rpc.js';
import { run } from '../../../wire/run.js';
import { put, scratch } from '../scratch.js';
import { F, type WatchEvent } from './shapes.js';

/** Watching directories, by a stream and by asking. */
export const watchingCases: Draft[] = [
  check(
    'WatchDir reports first that it watches, then what changes',
    [`${F}/WatchDir`, 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(sandbox, `mkdir '${path}/sub'`);
      const watch = await stream(
        sandbox,
        `${F}/WatchDir`,
        { path, recursive: true, includeEntry: true },
        { timeoutMs: 120_000 },
      );
      const first = await watch.messages.next();
      assert.ok((first.value as { start?: object }).start !== undefined);
      const seen: string[] = [];
      // One step after the other: of what comes and goes at once, a watcher may see only the end.
      const steps: [string, string[]][] = [
        ['echo x > new.txt', ['CREATE new.txt']],
        ['mv new.txt old.txt', ['RENAME new.txt', 'CREATE old.txt']],
        ['chmod 600 old.txt', ['CHMOD old.txt']],
        ['echo more >> old.txt', ['WRITE old.txt']],
        ['rm old.txt', ['REMOVE old.txt']],
        ['echo y > sub/inner', ['CREATE sub/inner']],
      ];
      for (const [script, wanted] of steps) {
        await run(sandbox, `cd '${path}' && ${script}`);
        while (!wanted.every((one) => seen.includes(one))) {
          const { value, done } = await watch.messages.next();
          if (done === true) assert.fail(`after '${script}' only: ${seen.join(', ')}`);
          const { filesystem } = value as { filesystem?: WatchEvent };
          if (filesystem === undefined) continue;
          const event = `${filesystem.type.replace('EVENT_TYPE_', '')} ${filesystem.name}`;
          seen.push(event);
          if (event === 'CREATE new.txt')
            assert.equal(filesystem.entry?.name, 'new.txt', 'the entry comes with it');
        }
      }
      watch.leave();
    },
  ),
  check('WatchDir follows directories that are new', [`${F}/WatchDir`, 'success'], async (target) => {
    const { sandbox, path } = await scratch(target);
    const watch = await stream(sandbox, `${F}/WatchDir`, { path, recursive: true });
    await watch.messages.next();
    await run(sandbox, `mkdir -p '${path}/late'`);
    let seen = false;
    const writer = eventually('an event below a new directory', async () => {
      await run(sandbox, `echo x >> '${path}/late/inner'`);
      return seen;
    });
    for await (const message of watch.messages) {
      const { filesystem } = message as { filesystem?: WatchEvent };
      if (filesystem?.name === 'late/inner') {
        seen = true;
        break;
      }
    }
    watch.leave();
    await writer;
  }),
  check('WatchDir of nothing gives not_found', [`${F}/WatchDir`, 'not_found'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await streamFails(sandbox, `${F}/WatchDir`, { path: `${path}/nothing` }, 'not_found');
  }),
  check(
    'WatchDir of a file gives invalid_argument',
    [`${F}/WatchDir`, 'invalid_argument'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      await streamFails(sandbox, `${F}/WatchDir`, { path: `${path}/file` }, 'invalid_argument');
      await unaryFails(sandbox, `${F}/CreateWatcher`, { path: `${path}/file` }, 'invalid_argument');
    },
  ),
  check('a timeout ends a watch', [`${F}/WatchDir`, 'deadline_exceeded'], async (target) => {
    const { sandbox, path } = await scratch(target);
    const watch = await stream(
      sandbox,
      `${F}/WatchDir`,
      { path },
      { headers: { 'Connect-Timeout-Ms': '500' } },
    );
    for await (const _ of watch.messages);
    assert.equal(watch.end()?.error?.code, 'deadline_exceeded');
  }),
  check(
    'a watcher that is polled gives each event once',
    [`${F}/GetWatcherEvents`, 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      const { watcherId } = await unaryOk<{ watcherId: string }>(sandbox, `${F}/CreateWatcher`, { path });
      await run(sandbox, `echo x > '${path}/polled'`);
      const poll = async () =>
        (await unaryOk<{ events?: WatchEvent[] }>(sandbox, `${F}/GetWatcherEvents`, { watcherId })).events ??
        [];
      await eventually('the event', async () =>
        (await poll()).some((one) => one.name === 'polled' && one.type === 'EVENT_TYPE_CREATE'),
      );
      assert.deepEqual(await unaryOk(sandbox, `${F}/RemoveWatcher`, { watcherId }), {});
      await unaryFails(sandbox, `${F}/GetWatcherEvents`, { watcherId }, 'not_found');
    },
  ),
  ...['GetWatcherEvents', 'RemoveWatcher'].map((method) =>
    check(
      `${method} of an id that is none gives not_found`,
      [`${F}/${method}`, 'not_found'],
      async (target) => {
        for (const watcherId of ['', 'nothing', `w${'0'.repeat(20)}`])
          await unaryFails(await target.sandbox(), `${F}/${method}`, { watcherId }, 'not_found');
      },
    ),
  ),
];

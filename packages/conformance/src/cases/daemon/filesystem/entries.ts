import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unaryFails, unaryOk } from '../../../wire/rpc.js';
import { run } from '../../../wire/run.js';
import { get, put, scratch } from '../scratch.js';
import { type Entry, F } from './shapes.js';

const withPath = ['Stat', 'MakeDir', 'ListDir', 'Remove', 'CreateWatcher'];

/** Requests that are refused, once a script has prepared them: paths below the directory of the case. */
const refused: {
  name: string;
  method: string;
  prepare?: string;
  code: string;
  path?: string;
  source?: string;
  destination?: string;
}[] = [
  ...['Stat', 'ListDir', 'CreateWatcher'].map((method) => ({
    name: `${method} of nothing`,
    method,
    path: 'nothing',
    code: 'not_found',
  })),
  ...(
    [
      ['MakeDir where a file is', 'MakeDir', 'file'],
      ['MakeDir below a file', 'MakeDir', 'file/below'],
      ['ListDir of a file', 'ListDir', 'file'],
    ] as const
  ).map(([name, method, path]) => ({
    name,
    method,
    prepare: 'echo x > file',
    path,
    code: 'invalid_argument',
  })),
  { name: 'Move of nothing', method: 'Move', source: 'nothing', destination: 'x', code: 'not_found' },
  {
    name: 'Move onto a directory with something in it',
    method: 'Move',
    prepare: 'mkdir a b && touch a/x b/x',
    source: 'a',
    destination: 'b',
    code: 'internal',
  },
  {
    name: 'ListDir of a loop of links',
    method: 'ListDir',
    prepare: 'ln -s b a && ln -s a b',
    path: 'a',
    code: 'failed_precondition',
  },
];

/** Calls that look at files and directories, and change them. */
export const entryCases: Draft[] = [
  check('Stat returns all about a file', [`${F}/Stat`, 'success'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/file.txt`, 'hello');
    await run(sandbox, `chmod 640 '${path}/file.txt'`);
    const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/Stat`, { path: `${path}/file.txt` });
    assert.equal(entry.name, 'file.txt');
    assert.equal(entry.type, 'FILE_TYPE_FILE');
    assert.equal(entry.path, `${path}/file.txt`);
    assert.equal(entry.size, '5', 'int64 is a text');
    assert.equal(entry.mode, 0o640);
    assert.equal(entry.permissions, '-rw-r-----');
    assert.ok(entry.owner.length > 0 && entry.group.length > 0);
    assert.ok(Math.abs(Date.parse(entry.modifiedTime) - Date.now()) < 3_600_000);
    assert.equal(entry.symlinkTarget, undefined);
  }),
  check(
    'files belong to the default user',
    [`${F}/Stat`, 'success', { needs: ['users'] }],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/deep/file.txt`, 'x');
      for (const name of ['/deep', '/deep/file.txt']) {
        const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/Stat`, { path: `${path}${name}` });
        assert.equal(entry.owner, 'user');
        assert.equal(entry.group, 'user');
      }
    },
  ),
  check(
    'a link shows the type of its target, and where it leads',
    [`${F}/Stat`, 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(
        sandbox,
        `cd '${path}' && echo x > file && ln -s file link && ln -s nowhere broken && mkdir dir && ln -s dir dirlink`,
      );
      const stat = async (name: string) =>
        (await unaryOk<{ entry: Entry }>(sandbox, `${F}/Stat`, { path: `${path}/${name}` })).entry;
      const link = await stat('link');
      assert.equal(link.type, 'FILE_TYPE_FILE');
      assert.equal(link.symlinkTarget, `${path}/file`);
      assert.match(link.permissions, /^L/);
      assert.equal((await stat('dirlink')).type, 'FILE_TYPE_DIRECTORY');
      const broken = await stat('broken');
      assert.equal(broken.type, undefined, 'unspecified is left out');
      assert.equal(broken.symlinkTarget, `${path}/broken`);
    },
  ),
  check('paths start at the home, also by ~', [`${F}/Stat`, 'success'], async (target) => {
    const { sandbox, path, relative } = await scratch(target);
    for (const given of [relative, `~/${relative}`, path, `./${relative}`]) {
      const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/Stat`, { path: given });
      assert.equal(entry.path, path, given);
    }
  }),
  ...withPath.map((method) =>
    check(
      `${method} refuses the home of somebody else`,
      [`${F}/${method}`, 'invalid_argument'],
      async (target) =>
        unaryFails(await target.sandbox(), `${F}/${method}`, { path: '~other/x' }, 'invalid_argument'),
    ),
  ),
  ...withPath.map((method) =>
    check(
      `${method} refuses a user that is not there`,
      [`${F}/${method}`, 'unauthenticated'],
      async (target) =>
        unaryFails(await target.sandbox(), `${F}/${method}`, { path: '~/x' }, 'unauthenticated', {
          user: 'nobody-of-this-name',
          text: /nobody-of-this-name/,
        }),
    ),
  ),
  ...refused.map(({ name, method, prepare = 'true', code, ...paths }) =>
    check(`${name} gives ${code}`, [`${F}/${method}`, code], async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(sandbox, `cd '${path}' && ${prepare}`);
      const message = Object.entries(paths).map(([field, value]) => [field, `${path}/${value}`]);
      await unaryFails(sandbox, `${F}/${method}`, Object.fromEntries(message), code);
    }),
  ),
  check(
    'MakeDir makes parents, and reports what is there',
    [`${F}/MakeDir`, 'already_exists'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/MakeDir`, { path: `${path}/a/b/c` });
      assert.equal(entry.type, 'FILE_TYPE_DIRECTORY');
      assert.equal(entry.path, `${path}/a/b/c`);
      assert.equal(entry.mode, 0o755);
      await unaryFails(sandbox, `${F}/MakeDir`, { path: `${path}/a/b` }, 'already_exists');
    },
  ),
  check(
    'Move makes parents, replaces files and moves directories',
    [`${F}/Move`, 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/one`, 'one');
      await put(sandbox, `${path}/two`, 'two');
      const move = (source: string, destination: string) =>
        unaryOk<{ entry: Entry }>(sandbox, `${F}/Move`, {
          source: `${path}/${source}`,
          destination: `${path}/${destination}`,
        });
      assert.equal((await move('one', 'deep/er/one')).entry.path, `${path}/deep/er/one`);
      await move('two', 'deep/er/one');
      assert.equal(await get(sandbox, `${path}/deep/er/one`), 'two');
      await move('deep', 'moved');
      assert.equal(await get(sandbox, `${path}/moved/er/one`), 'two');
    },
  ),
  check(
    'ListDir lists to the depth asked for, in lexical order',
    [`${F}/ListDir`, 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(sandbox, `cd '${path}' && mkdir -p b/c/d && touch a b/x b/c/y z`);
      const list = async (depth?: number, at = path) =>
        (
          (
            await unaryOk<{ entries?: Entry[] }>(sandbox, `${F}/ListDir`, {
              path: at,
              ...(depth === undefined ? {} : { depth }),
            })
          ).entries ?? []
        ).map((entry) => entry.path.slice(at.length + 1));
      assert.deepEqual(await list(), ['a', 'b', 'z']);
      assert.deepEqual(await list(0), ['a', 'b', 'z']);
      assert.deepEqual(await list(1), ['a', 'b', 'z']);
      assert.deepEqual(await list(2), ['a', 'b', 'b/c', 'b/x', 'z']);
      assert.deepEqual(await list(9), ['a', 'b', 'b/c', 'b/c/d', 'b/c/y', 'b/x', 'z']);
      await run(sandbox, `ln -s '${path}' '${path}-link'`);
      assert.deepEqual(await list(1, `${path}-link`), ['a', 'b', 'z'], 'a link at the root is followed');
      await run(sandbox, `mkdir '${path}/empty'`);
      assert.deepEqual(await list(1, `${path}/empty`), []);
    },
  ),
  check(
    'Remove takes files, trees and links, and succeeds where nothing is',
    [`${F}/Remove`, 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(
        sandbox,
        `cd '${path}' && mkdir -p tree/deep kept && touch tree/deep/x kept/y file && ln -s kept link`,
      );
      for (const name of ['file', 'tree', 'link', 'nothing', 'nothing/below'])
        assert.deepEqual(await unaryOk(sandbox, `${F}/Remove`, { path: `${path}/${name}` }), {});
      const { stdout } = await run(sandbox, `cd '${path}' && find . | sort`);
      assert.equal(stdout, '.\n./kept\n./kept/y\n', 'the target of a link stays');
    },
  ),
  check(
    'Remove of what cannot be removed gives internal',
    [`${F}/Remove`, 'internal', { needs: ['isolation'] }],
    async (target) => unaryFails(await target.sandbox(), `${F}/Remove`, { path: '/proc/self' }, 'internal'),
  ),
];

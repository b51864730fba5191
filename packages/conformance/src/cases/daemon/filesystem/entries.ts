import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { unaryFails, unaryOk } from '../../../wire/rpc.js';
import { run } from '../../../wire/run.js';
import { get, put, scratch } from '../scratch.js';
import { type Entry, F } from './shapes.js';

const withPath = ['Stat', 'MakeDir', 'ListDir', 'Remove', 'CreateWatcher'];

/** Calls that look at files and directories, and change them. */
export const entryCases: Draft[] = [
  {
    name: 'Stat tells all about a file',
    operation: `${F}/Stat`,
    expects: 'success',
    run: async (target) => {
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
    },
  },
  {
    name: 'files belong to the default user',
    operation: `${F}/Stat`,
    expects: 'success',
    needs: ['users'],
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/deep/file.txt`, 'x');
      for (const name of ['/deep', '/deep/file.txt']) {
        const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/Stat`, { path: `${path}${name}` });
        assert.equal(entry.owner, 'user');
        assert.equal(entry.group, 'user');
      }
    },
  },
  {
    name: 'a link shows the type of its target, and where it leads',
    operation: `${F}/Stat`,
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'paths start at the home, also by ~',
    operation: `${F}/Stat`,
    expects: 'success',
    run: async (target) => {
      const { sandbox, path, relative } = await scratch(target);
      for (const given of [relative, `~/${relative}`, path, `./${relative}`]) {
        const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/Stat`, { path: given });
        assert.equal(entry.path, path, given);
      }
    },
  },
  ...withPath.map(
    (method): Draft => ({
      name: `${method} refuses the home of somebody else`,
      operation: `${F}/${method}`,
      expects: 'invalid_argument',
      run: async (target) =>
        unaryFails(await target.sandbox(), `${F}/${method}`, { path: '~other/x' }, 'invalid_argument'),
    }),
  ),
  ...withPath.map(
    (method): Draft => ({
      name: `${method} refuses a user that is not there`,
      operation: `${F}/${method}`,
      expects: 'unauthenticated',
      run: async (target) =>
        unaryFails(await target.sandbox(), `${F}/${method}`, { path: '~/x' }, 'unauthenticated', {
          user: 'nobody-of-this-name',
          text: /nobody-of-this-name/,
        }),
    }),
  ),
  ...['Stat', 'ListDir', 'CreateWatcher'].map(
    (method): Draft => ({
      name: `${method} of nothing gives not_found`,
      operation: `${F}/${method}`,
      expects: 'not_found',
      run: async (target) => {
        const { sandbox, path } = await scratch(target);
        await unaryFails(sandbox, `${F}/${method}`, { path: `${path}/nothing` }, 'not_found');
      },
    }),
  ),
  {
    name: 'MakeDir makes parents, and tells of what is there',
    operation: `${F}/MakeDir`,
    expects: 'already_exists',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      const { entry } = await unaryOk<{ entry: Entry }>(sandbox, `${F}/MakeDir`, { path: `${path}/a/b/c` });
      assert.equal(entry.type, 'FILE_TYPE_DIRECTORY');
      assert.equal(entry.path, `${path}/a/b/c`);
      assert.equal(entry.mode, 0o755);
      await unaryFails(sandbox, `${F}/MakeDir`, { path: `${path}/a/b` }, 'already_exists');
    },
  },
  {
    name: 'MakeDir where a file is gives invalid_argument',
    operation: `${F}/MakeDir`,
    expects: 'invalid_argument',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      await unaryFails(sandbox, `${F}/MakeDir`, { path: `${path}/file` }, 'invalid_argument');
    },
  },
  {
    name: 'MakeDir below a file gives invalid_argument',
    operation: `${F}/MakeDir`,
    expects: 'invalid_argument',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      await unaryFails(sandbox, `${F}/MakeDir`, { path: `${path}/file/below` }, 'invalid_argument');
    },
  },
  {
    name: 'Move makes parents, replaces files and moves directories',
    operation: `${F}/Move`,
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'Move of nothing gives not_found',
    operation: `${F}/Move`,
    expects: 'not_found',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await unaryFails(
        sandbox,
        `${F}/Move`,
        { source: `${path}/nothing`, destination: `${path}/x` },
        'not_found',
      );
    },
  },
  {
    name: 'Move onto a directory with something in it gives internal',
    operation: `${F}/Move`,
    expects: 'internal',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(sandbox, `cd '${path}' && mkdir a b && touch a/x b/x`);
      await unaryFails(sandbox, `${F}/Move`, { source: `${path}/a`, destination: `${path}/b` }, 'internal');
    },
  },
  {
    name: 'ListDir lists to the depth asked for, in lexical order',
    operation: `${F}/ListDir`,
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'ListDir of a file gives invalid_argument',
    operation: `${F}/ListDir`,
    expects: 'invalid_argument',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      await unaryFails(sandbox, `${F}/ListDir`, { path: `${path}/file` }, 'invalid_argument');
    },
  },
  {
    name: 'ListDir of a loop of links gives failed_precondition',
    operation: `${F}/ListDir`,
    expects: 'failed_precondition',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(sandbox, `cd '${path}' && ln -s b a && ln -s a b`);
      await unaryFails(sandbox, `${F}/ListDir`, { path: `${path}/a` }, 'failed_precondition');
    },
  },
  {
    name: 'Remove takes files, trees and links, and succeeds where nothing is',
    operation: `${F}/Remove`,
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'Remove of what cannot be removed gives internal',
    operation: `${F}/Remove`,
    expects: 'internal',
    needs: ['isolation'],
    run: async (target) =>
      unaryFails(await target.sandbox(), `${F}/Remove`, { path: '/proc/self' }, 'internal'),
  },
];

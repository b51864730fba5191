import assert from 'node:assert/strict';
import { gunzipSync, gzipSync } from 'node:zlib';
import { check, type Draft } from '../../../case.js';
import type { Daemon, DaemonCallOptions } from '../../../wire/rpc.js';
import { run } from '../../../wire/run.js';
import { get, put, scratch } from '../scratch.js';
import { http, multipart, octet, type Written } from './calls.js';

const readFile = (daemon: Daemon, path: string, headers: Record<string, string> = {}) =>
  http(daemon, 'readFile', { path }, { headers });

/** Writing and reading files, and how they are sent. */
export const transferCases: Draft[] = [
  check(
    'a file comes back as it was sent, by octet-stream',
    ['daemon writeFiles', 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
      const answer = await http(sandbox, 'writeFiles', { path: `${path}/new/dir/file.bin` }, octet(bytes));
      assert.deepEqual(answer.json(), [{ path: `${path}/new/dir/file.bin`, name: 'file.bin', type: 'file' }]);
      const read = await readFile(sandbox, `${path}/new/dir/file.bin`);
      assert.ok(read.bytes.equals(bytes));
      assert.match(read.headers['content-disposition'] ?? '', /^inline; filename="?file\.bin"?/);
      assert.match(read.headers.vary ?? '', /Accept-Encoding/i);
      await put(sandbox, `${path}/new/dir/file.bin`, 'short');
      assert.equal(await get(sandbox, `${path}/new/dir/file.bin`), 'short', 'the rest is cut off');
    },
  ),
  check('an empty file is a file', ['daemon writeFiles', 'success'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/empty`, '');
    assert.equal(await get(sandbox, `${path}/empty`), '');
  }),
  check(
    'several files come in one multipart body, by their names',
    ['daemon writeFiles', 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      const answer = await http(
        sandbox,
        'writeFiles',
        {},
        multipart([
          { name: 'file', filename: `${path}/a.txt`, body: 'first' },
          { name: 'other', filename: 'ignored', body: 'ignored' },
          { name: 'file', filename: `${path}/deep/b.txt`, body: 'second' },
        ]),
      );
      assert.deepEqual(
        (answer.json() as Written[]).map((one) => one.path),
        [`${path}/a.txt`, `${path}/deep/b.txt`],
      );
      assert.equal(await get(sandbox, `${path}/a.txt`), 'first');
      assert.equal(await get(sandbox, `${path}/deep/b.txt`), 'second');
      await http(
        sandbox,
        'writeFiles',
        { path: `${path}/named` },
        multipart([{ name: 'file', filename: 'x', body: 'by path' }]),
      );
      assert.equal(await get(sandbox, `${path}/named`), 'by path');
    },
  ),
  check('writes that make no sense give 400', ['daemon writeFiles', '400'], async (target) => {
    const { sandbox, path } = await scratch(target);
    const refused: [Record<string, string>, DaemonCallOptions][] = [
      [{}, octet('x')],
      [{ path }, octet('x')],
      [{ path: '~other/x' }, octet('x')],
      [{ path: `${path}/x` }, { body: 'x', headers: { 'Content-Type': 'text/plain' } }],
      [{ path: `${path}/x` }, octet('x', { 'Content-Encoding': 'br' })],
      [{ path: `${path}/x` }, octet('not gzip', { 'Content-Encoding': 'gzip' })],
      [{}, multipart([{ name: 'file', filename: `${path}/x`, body: 'x' }], true)],
      [{}, { body: 'x', headers: { 'Content-Type': 'multipart/form-data' } }],
      [
        {},
        multipart([
          { name: 'file', filename: `${path}/twice`, body: 'x' },
          { name: 'file', filename: `${path}/twice`, body: 'y' },
        ]),
      ],
      [{ path: `${path}/x` }, octet('x', { 'X-Metadata-Key': 'ümlaut' })],
      [{ path: `${path}/x` }, octet('x', { 'X-Metadata-Key': 'v'.repeat(4_097) })],
      [{ path: `${path}/x` }, octet('x', { [`X-Metadata-${'k'.repeat(247)}`]: 'v' })],
    ];
    for (const [index, [values, options]] of refused.entries())
      assert.equal((await http(sandbox, 'writeFiles', values, options)).status, 400, `request ${index}`);
  }),
  check('reads that make no sense give 400', ['daemon readFile', '400'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await run(sandbox, `mkfifo '${path}/pipe'`);
    for (const bad of [path, '/dev/null', `${path}/pipe`, '~other/x'])
      assert.equal((await http(sandbox, 'readFile', { path: bad })).status, 400, bad);
  }),
  check('a file that is not there gives 404 with its path', ['daemon readFile', '404'], async (target) => {
    const { sandbox, path } = await scratch(target);
    const answer = await readFile(sandbox, `${path}/nothing`);
    assert.equal(answer.status, 404);
    assert.ok(answer.text.includes(`${path}/nothing`));
  }),
  check('a user that is not there gives 401', ['daemon readFile', '401 user'], async (target) => {
    const sandbox = await target.sandbox();
    const nobody = 'nobody-of-this-name';
    assert.equal((await http(sandbox, 'readFile', { path: 'x', username: nobody })).status, 401);
    assert.equal(
      (await http(sandbox, 'writeFiles', { path: 'x', username: nobody }, octet('x'))).status,
      401,
    );
    assert.equal((await http(sandbox, 'readFile', { path: 'x' }, { user: nobody })).status, 401);
  }),
  check(
    'the user decides the home and the owner',
    ['daemon writeFiles', 'success', { needs: ['users'] }],
    async (target) => {
      const { sandbox, relative } = await scratch(target);
      await http(sandbox, 'writeFiles', { path: `${relative}-root`, username: 'root' }, octet('x'));
      assert.equal(
        (await run(sandbox, `stat -c %U /root/${relative}-root`, { user: 'root' })).stdout,
        'root\n',
      );
    },
  ),
  check('gzip is used when accepted, never with a range', ['daemon readFile', 'success'], async (target) => {
    const { sandbox, path } = await scratch(target);
    const text = 'hello '.repeat(5_000);
    await put(sandbox, `${path}/file`, text);
    const zipped = await readFile(sandbox, `${path}/file`, { 'Accept-Encoding': 'gzip' });
    assert.equal(zipped.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(zipped.bytes).toString(), text);
    const part = await readFile(sandbox, `${path}/file`, { 'Accept-Encoding': 'gzip', Range: 'bytes=0-4' });
    assert.equal(part.status, 206);
    assert.equal(part.text, 'hello');
    assert.equal(part.headers['content-range'], `bytes 0-4/${text.length}`);
  }),
  check('a body compressed with gzip is stored plain', ['daemon writeFiles', 'success'], async (target) => {
    const { sandbox, path } = await scratch(target);
    const sent = await http(
      sandbox,
      'writeFiles',
      { path: `${path}/file` },
      octet(gzipSync('plain'), { 'Content-Encoding': 'gzip' }),
    );
    assert.equal(sent.status, 200);
    assert.equal(await get(sandbox, `${path}/file`), 'plain');
  }),
  check(
    'ranges: the middle, the end, what is beyond, and none',
    ['daemon readFile', '416'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, '0123456789');
      const range = (value: string) => readFile(sandbox, `${path}/file`, { Range: value });
      assert.equal((await range('bytes=2-4')).text, '234');
      assert.equal((await range('bytes=7-')).text, '789');
      assert.equal((await range('bytes=-3')).text, '789');
      assert.equal((await range('bytes=5-100')).text, '56789');
      const beyond = await range('bytes=10-');
      assert.equal(beyond.status, 416);
      assert.equal(beyond.headers['content-range'], 'bytes */10');
    },
  ),
  check('a copy that is still good gives 304', ['daemon readFile', '304'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/file`, 'x');
    const first = await readFile(sandbox, `${path}/file`);
    const modified = first.headers['last-modified'];
    assert.ok(modified !== undefined);
    const again = await readFile(sandbox, `${path}/file`, { 'If-Modified-Since': modified });
    assert.equal(again.status, 304);
    assert.equal(again.text, '');
  }),
  check('no acceptable encoding gives 406', ['daemon readFile', '406'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/file`, 'x');
    const answer = await readFile(sandbox, `${path}/file`, { 'Accept-Encoding': 'identity;q=0, br' });
    assert.equal(answer.status, 406);
  }),
  check(
    'a file that is not the one that the client knows gives 412',
    ['daemon readFile', '412'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      const headers = { 'If-Match': '"another"' };
      const answer = await readFile(sandbox, `${path}/file`, headers);
      assert.equal(answer.status, 412);
    },
  ),
];

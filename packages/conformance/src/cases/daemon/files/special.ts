import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { signFilePath } from '@svc/daemon';
import { check, type Draft } from '../../../case.js';
import { unaryOk } from '../../../wire/rpc.js';
import { run } from '../../../wire/run.js';
import { get, put, scratch } from '../scratch.js';
import { http, octet, type Written } from './calls.js';

/** Signed links, metadata, joined files, a full disk. */
export const specialCases: Draft[] = [
  check(
    'a signature opens exactly one file in one direction',
    ['daemon readFile', '401 signature'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      const file = `${path}/signed`;
      await put(sandbox, file, 'content');
      const sign = (
        operation: 'read' | 'write',
        more: { user?: string; expiration?: number } = {},
        at = file,
      ) => signFilePath({ path: at, operation, accessToken: sandbox.accessToken, ...more });
      const read = (values: Record<string, string>, token: string | null = null) =>
        http(sandbox, 'readFile', { path: file, ...values }, { token });
      const now = Math.floor(Date.now() / 1000);
      assert.equal((await read({ signature: await sign('read') })).text, 'content');
      const later = now + 600;
      assert.equal(
        (
          await read({
            signature: await sign('read', { expiration: later }),
            signature_expiration: String(later),
          })
        ).status,
        200,
      );
      assert.equal((await read({})).status, 401, 'none');
      assert.equal((await read({ signature: 'v1_wrong' })).status, 401, 'wrong');
      assert.equal((await read({ signature: await sign('write') })).status, 401, 'another direction');
      assert.equal(
        (await read({ signature: await sign('read', {}, `${file}2`) })).status,
        401,
        'another path',
      );
      assert.equal(
        (await read({ signature: await sign('read'), username: 'root' })).status,
        401,
        'another user',
      );
      assert.equal(
        (await read({ signature: await sign('read'), signature_expiration: String(later) })).status,
        401,
      );
      const past = now - 10;
      assert.equal(
        (
          await read({
            signature: await sign('read', { expiration: past }),
            signature_expiration: String(past),
          })
        ).status,
        401,
        'expired',
      );
      assert.equal((await read({ signature: await sign('read') }, 'wrong')).status, 401, 'a header wins');
      const written = await http(
        sandbox,
        'writeFiles',
        { path: file, signature: await sign('write') },
        { ...octet('new'), token: null },
      );
      assert.equal(written.status, 200);
      assert.equal(await get(sandbox, file), 'new');
    },
  ),
  check(
    'metadata of a file is kept, shown, and replaced',
    ['daemon writeFiles', 'success'],
    async (target) => {
      const { sandbox, path } = await scratch(target);
      const file = { path: `${path}/file` };
      const first = await http(
        sandbox,
        'writeFiles',
        file,
        octet('x', { 'X-Metadata-Author': 'me', 'X-Metadata-Kind': 'test' }),
      );
      assert.deepEqual((first.json() as Written[])[0]?.metadata, { author: 'me', kind: 'test' });
      await http(sandbox, 'writeFiles', file, octet('x', { 'X-Metadata-Other': 'now' }));
      const { entry } = await unaryOk<{ entry: { metadata?: object } }>(
        sandbox,
        'filesystem.Filesystem/Stat',
        file,
      );
      assert.deepEqual(entry.metadata, { other: 'now' });
    },
  ),
  check('files are joined, and their parts go', ['daemon composeFiles', 'success'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/1`, 'one ');
    await put(sandbox, `${path}/2`, 'two');
    const compose = (body: unknown) =>
      http(
        sandbox,
        'composeFiles',
        {},
        { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } },
      );
    const answer = await compose({ source_paths: [`${path}/1`, `${path}/2`], destination: `${path}/both` });
    assert.equal(answer.status, 200);
    assert.equal(await get(sandbox, `${path}/both`), 'one two');
    assert.equal((await run(sandbox, `ls '${path}'`)).stdout, 'both\n');
  }),
  check('joining what makes no sense gives 400', ['daemon composeFiles', '400'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/1`, 'one');
    const compose = (body: string) =>
      http(sandbox, 'composeFiles', {}, { body, headers: { 'Content-Type': 'application/json' } });
    const texts = [
      { source_paths: [], destination: `${path}/x` },
      { source_paths: [`${path}/1`], destination: `${path}/1` },
      { source_paths: [path], destination: `${path}/x` },
      { source_paths: [`${path}/1`] },
    ].map((body) => JSON.stringify(body));
    for (const text of [...texts, '{', '[]']) assert.equal((await compose(text)).status, 400, text);
    assert.equal(await get(sandbox, `${path}/1`), 'one', 'nothing was lost');
  }),
  check('joining by a list of more than 4 MiB gives 413', ['daemon composeFiles', '413'], async (target) => {
    const body = JSON.stringify({ source_paths: ['x'.repeat(5 * 1_048_576)], destination: 'both' });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await http(await target.sandbox(), 'composeFiles', {}, { body, headers });
    assert.equal(answer.status, 413);
  }),
  check('joining a part that is not there gives 404', ['daemon composeFiles', '404'], async (target) => {
    const { sandbox, path } = await scratch(target);
    await put(sandbox, `${path}/1`, 'one');
    const answer = await http(
      sandbox,
      'composeFiles',
      {},
      {
        body: JSON.stringify({ source_paths: [`${path}/1`, `${path}/nothing`], destination: `${path}/x` }),
        headers: { 'Content-Type': 'application/json' },
      },
    );
    assert.equal(answer.status, 404);
    assert.equal(await get(sandbox, `${path}/1`), 'one');
  }),
  check(
    'a full disk gives 507, and the sandbox lives on',
    ['daemon writeFiles', '507', { needs: ['isolation'] }],
    async (target) => {
      const sandbox = await target.newSandbox();
      const piece = Buffer.alloc(1 << 20, 1);
      let left = 1_024;
      const body = new Readable({
        read() {
          this.push(left-- > 0 ? piece : null);
        },
      });
      const answer = await http(
        sandbox,
        'writeFiles',
        { path: '~/large' },
        { body, headers: { 'Content-Type': 'application/octet-stream' } },
      );
      assert.equal(answer.status, 507, answer.text);
      await run(sandbox, 'rm -f ~/large');
      await put(sandbox, '~/small', 'fits');
      assert.equal(await get(sandbox, '~/small'), 'fits');
    },
  ),
  check(
    'joining into more than the disk has gives 507, and the parts stay',
    ['daemon composeFiles', '507', { needs: ['isolation'] }],
    async (target) => {
      const sandbox = await target.newSandbox();
      // More than half of the disk, so that there is no room for a copy. Parts that begin with a block may share theirs: this one
      // begins with the second byte.
      await run(sandbox, 'printf 1 > ~/first && head -c 300M /dev/zero > ~/part');
      const body = JSON.stringify({ source_paths: ['~/first', '~/part'], destination: '~/both' });
      const headers = { 'Content-Type': 'application/json' };
      const answer = await http(sandbox, 'composeFiles', {}, { body, headers });
      assert.equal(answer.status, 507, answer.text);
      assert.equal((await run(sandbox, 'cd && stat -c %s first part both')).stdout, '1\n314572800\n');
    },
  ),
];

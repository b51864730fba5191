import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { signFilePath } from '@svc/daemon';
import { casesOf } from '../../case.js';
import { daemon as document, operationOf } from '../../wire/documents.js';
import { observe } from '../../wire/recorder.js';
import { type Daemon, type DaemonCallOptions, daemonSend, unaryOk } from '../../wire/rpc.js';
import type { Answer } from '../../wire/send.js';
import { run } from './run.js';
import { get, put, query, scratch } from './scratch.js';

const BOUNDARY = 'a-boundary';

/** Calls a documented route of the daemon; the answer must be one that the document allows. */
async function http(
  daemon: Daemon,
  operationId: string,
  values: Record<string, string> = {},
  options: DaemonCallOptions = {},
): Promise<Answer> {
  const operation = operationOf(document, operationId);
  const text = Object.keys(values).length === 0 ? '' : query(values);
  const answer = await daemonSend(daemon, `${operation.path}${text}`, {
    method: operation.method,
    ...options,
  });
  const plain = answer.headers['content-encoding'] === undefined ? answer.text : '';
  assert.equal(
    operation.checkAnswer(answer.status, answer.headers['content-type'], plain),
    undefined,
    operationId,
  );
  observe({ operation: `daemon ${operationId}`, outcome: String(answer.status) });
  if (answer.status >= 400 && (answer.headers['content-type'] ?? '').startsWith('application/json'))
    assert.equal((answer.json() as { code: number }).code, answer.status);
  return answer;
}

const octet = (body: string | Buffer, headers: Record<string, string> = {}): DaemonCallOptions => ({
  body,
  headers: { 'Content-Type': 'application/octet-stream', ...headers },
});

const multipart = (
  parts: { name: string; filename?: string; body: string }[],
  cut = false,
): DaemonCallOptions => ({
  body:
    parts
      .map(
        ({ name, filename, body }) =>
          `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n${body}\r\n`,
      )
      .join('') + (cut ? '' : `--${BOUNDARY}--\r\n`),
  headers: { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` },
});

interface Written {
  path: string;
  name: string;
  type: string;
  metadata?: Record<string, string>;
}

/** /files and the other plain routes of the daemon. */
export const fileCases = casesOf('files', [
  {
    name: 'health needs no token',
    operation: 'daemon getHealth',
    expects: 'success',
    run: async (target) => {
      const answer = await http(await target.sandbox(), 'getHealth', {}, { token: null });
      assert.equal(answer.status, 204);
    },
  },
  {
    name: 'metrics tell cores, memory and disk',
    operation: 'daemon getMetrics',
    expects: 'success',
    run: async (target) => {
      const answer = await http(await target.sandbox(), 'getMetrics');
      const metrics = answer.json() as Record<string, number>;
      for (const name of [
        'ts',
        'cpu_count',
        'cpu_used_pct',
        'mem_total',
        'mem_used',
        'mem_cache',
        'mem_total_mib',
        'mem_used_mib',
        'disk_used',
        'disk_total',
      ])
        assert.equal(typeof metrics[name], 'number', name);
      assert.equal(answer.headers['cache-control'], 'no-store');
    },
  },
  {
    name: 'the environment is told',
    operation: 'daemon getEnvs',
    expects: 'success',
    run: async (target) => {
      const answer = await http(await target.sandbox(), 'getEnvs');
      assert.equal((answer.json() as Record<string, string>).SVC_SANDBOX, 'true');
      assert.equal(answer.headers['cache-control'], 'no-store');
    },
  },
  {
    name: 'metrics, environment and compose need the token',
    operation: 'daemon getMetrics',
    expects: '401',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const operation of ['getMetrics', 'getEnvs'])
        for (const token of [null, 'wrong'])
          assert.equal((await http(sandbox, operation, {}, { token })).status, 401);
      const compose = {
        body: '{"source_paths":["a"],"destination":"b"}',
        headers: { 'Content-Type': 'application/json' },
      };
      assert.equal((await http(sandbox, 'composeFiles', {}, { ...compose, token: null })).status, 401);
    },
  },
  {
    name: 'a file comes back as it was sent, by octet-stream',
    operation: 'daemon writeFiles',
    expects: 'success',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
      const answer = await http(sandbox, 'writeFiles', { path: `${path}/new/dir/file.bin` }, octet(bytes));
      assert.deepEqual(answer.json(), [{ path: `${path}/new/dir/file.bin`, name: 'file.bin', type: 'file' }]);
      const read = await http(sandbox, 'readFile', { path: `${path}/new/dir/file.bin` });
      assert.ok(read.bytes.equals(bytes));
      assert.match(read.headers['content-disposition'] ?? '', /^inline; filename="?file\.bin"?/);
      assert.match(read.headers.vary ?? '', /Accept-Encoding/i);
      await put(sandbox, `${path}/new/dir/file.bin`, 'short');
      assert.equal(await get(sandbox, `${path}/new/dir/file.bin`), 'short', 'the rest is cut off');
    },
  },
  {
    name: 'an empty file is a file',
    operation: 'daemon writeFiles',
    expects: 'success',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/empty`, '');
      assert.equal(await get(sandbox, `${path}/empty`), '');
    },
  },
  {
    name: 'several files come in one multipart body, by their names',
    operation: 'daemon writeFiles',
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'writes that make no sense give 400',
    operation: 'daemon writeFiles',
    expects: '400',
    run: async (target) => {
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
    },
  },
  {
    name: 'reads that make no sense give 400',
    operation: 'daemon readFile',
    expects: '400',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await run(sandbox, `mkfifo '${path}/pipe'`);
      for (const bad of [path, '/dev/null', `${path}/pipe`, '~other/x'])
        assert.equal((await http(sandbox, 'readFile', { path: bad })).status, 400, bad);
    },
  },
  {
    name: 'a file that is not there gives 404 with its path',
    operation: 'daemon readFile',
    expects: '404',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      const answer = await http(sandbox, 'readFile', { path: `${path}/nothing` });
      assert.equal(answer.status, 404);
      assert.ok(answer.text.includes(`${path}/nothing`));
    },
  },
  {
    name: 'a user that is not there gives 401',
    operation: 'daemon readFile',
    expects: '401 user',
    run: async (target) => {
      const sandbox = await target.sandbox();
      assert.equal(
        (await http(sandbox, 'readFile', { path: 'x', username: 'nobody-of-this-name' })).status,
        401,
      );
      assert.equal(
        (await http(sandbox, 'writeFiles', { path: 'x', username: 'nobody-of-this-name' }, octet('x')))
          .status,
        401,
      );
      assert.equal(
        (await http(sandbox, 'readFile', { path: 'x' }, { user: 'nobody-of-this-name' })).status,
        401,
      );
    },
  },
  {
    name: 'the user decides the home and the owner',
    operation: 'daemon writeFiles',
    expects: 'success',
    needs: ['users'],
    run: async (target) => {
      const { sandbox, relative } = await scratch(target);
      await http(sandbox, 'writeFiles', { path: `${relative}-root`, username: 'root' }, octet('x'));
      assert.equal(
        (await run(sandbox, `stat -c %U /root/${relative}-root`, { user: 'root' })).stdout,
        'root\n',
      );
    },
  },
  {
    name: 'gzip is used when accepted, never with a range',
    operation: 'daemon readFile',
    expects: 'success',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      const text = 'hello '.repeat(5_000);
      await put(sandbox, `${path}/file`, text);
      const zipped = await http(
        sandbox,
        'readFile',
        { path: `${path}/file` },
        { headers: { 'Accept-Encoding': 'gzip' } },
      );
      assert.equal(zipped.headers['content-encoding'], 'gzip');
      assert.equal(gunzipSync(zipped.bytes).toString(), text);
      const part = await http(
        sandbox,
        'readFile',
        { path: `${path}/file` },
        { headers: { 'Accept-Encoding': 'gzip', Range: 'bytes=0-4' } },
      );
      assert.equal(part.status, 206);
      assert.equal(part.text, 'hello');
      assert.equal(part.headers['content-range'], `bytes 0-4/${text.length}`);
    },
  },
  {
    name: 'a body compressed with gzip is stored plain',
    operation: 'daemon writeFiles',
    expects: 'success',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      const sent = await http(
        sandbox,
        'writeFiles',
        { path: `${path}/file` },
        octet(gzipSync('plain'), { 'Content-Encoding': 'gzip' }),
      );
      assert.equal(sent.status, 200);
      assert.equal(await get(sandbox, `${path}/file`), 'plain');
    },
  },
  {
    name: 'ranges: the middle, the end, what is beyond, and none',
    operation: 'daemon readFile',
    expects: '416',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, '0123456789');
      const range = (value: string) =>
        http(sandbox, 'readFile', { path: `${path}/file` }, { headers: { Range: value } });
      assert.equal((await range('bytes=2-4')).text, '234');
      assert.equal((await range('bytes=7-')).text, '789');
      assert.equal((await range('bytes=-3')).text, '789');
      assert.equal((await range('bytes=5-100')).text, '56789');
      const beyond = await range('bytes=10-');
      assert.equal(beyond.status, 416);
      assert.equal(beyond.headers['content-range'], 'bytes */10');
    },
  },
  {
    name: 'a copy that is still good gives 304',
    operation: 'daemon readFile',
    expects: '304',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      const first = await http(sandbox, 'readFile', { path: `${path}/file` });
      const modified = first.headers['last-modified'];
      assert.ok(modified !== undefined);
      const again = await http(
        sandbox,
        'readFile',
        { path: `${path}/file` },
        { headers: { 'If-Modified-Since': modified } },
      );
      assert.equal(again.status, 304);
      assert.equal(again.text, '');
    },
  },
  {
    name: 'no acceptable encoding gives 406',
    operation: 'daemon readFile',
    expects: '406',
    run: async (target) => {
      const { sandbox, path } = await scratch(target);
      await put(sandbox, `${path}/file`, 'x');
      const answer = await http(
        sandbox,
        'readFile',
        { path: `${path}/file` },
        { headers: { 'Accept-Encoding': 'identity;q=0, br' } },
      );
      assert.equal(answer.status, 406);
    },
  },
  {
    name: 'a signature opens exactly one file in one direction',
    operation: 'daemon readFile',
    expects: '401 signature',
    run: async (target) => {
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
  },
  {
    name: 'metadata of a file is kept, shown, and replaced',
    operation: 'daemon writeFiles',
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'files are joined, and their parts go',
    operation: 'daemon composeFiles',
    expects: 'success',
    run: async (target) => {
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
    },
  },
  {
    name: 'joining what makes no sense gives 400',
    operation: 'daemon composeFiles',
    expects: '400',
    run: async (target) => {
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
    },
  },
  {
    name: 'joining a part that is not there gives 404',
    operation: 'daemon composeFiles',
    expects: '404',
    run: async (target) => {
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
    },
  },
  {
    name: 'a full disk gives 507, and the sandbox lives on',
    operation: 'daemon writeFiles',
    expects: '507',
    needs: ['isolation'],
    timeoutMs: 120_000,
    run: async (target) => {
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
  },
]);

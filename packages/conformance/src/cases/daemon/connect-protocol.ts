import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { frame, frameHead } from '@svc/support/connect-frames';
import { casesOf, check } from '../../case.js';
import { daemonSend, sendStream, streamFails, unary, unaryFails, unaryOk } from '../../wire/rpc.js';
import { startMessage } from '../../wire/run.js';
import { send } from '../../wire/send.js';

const LIST = 'process.Process/List';
const START = 'process.Process/Start';
const STREAM = 'process.Process/StreamInput';
const STAT = 'filesystem.Filesystem/Stat';

/** Connect by the byte: content types, headers, frames. */
export const connectCases = casesOf('connect protocol', [
  check('a unary answer is bare JSON', [STAT, 'success'], async (target) => {
    const answer = await unary(await target.sandbox(), STAT, { path: '/' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.equal((answer.json() as { entry: { type: string } }).entry.type, 'FILE_TYPE_DIRECTORY');
  }),
  check(
    'snake case and unknown fields are understood in a request',
    ['filesystem.Filesystem/CreateWatcher', 'success'],
    async (target) => {
      const sandbox = await target.sandbox();
      const made = await unaryOk<{ watcherId: string }>(sandbox, 'filesystem.Filesystem/CreateWatcher', {
        path: '~',
        include_entry: true,
        no_such_field: 1,
      });
      assert.match(made.watcherId, /^w[a-z0-9]{20}$/);
      await unaryOk(sandbox, 'filesystem.Filesystem/RemoveWatcher', { watcher_id: made.watcherId });
    },
  ),
  check('another content type gives 415 and says what is accepted', [LIST, '415'], async (target) => {
    const sandbox = await target.sandbox();
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
      const answer = await unary(sandbox, LIST, '{}', { headers: { 'Content-Type': type } });
      assert.equal(answer.status, 415, type);
      assert.match(answer.headers['accept-post'] as string, /application\/json/);
    }
    const streaming = await unary(sandbox, START, '{}', {
      headers: { 'Content-Type': 'application/json' },
    });
    assert.equal(streaming.status, 415, 'a streaming call is not application/json');
  }),
  check('another method gives 405 with Allow, an unknown procedure 404', [LIST, '405'], async (target) => {
    const sandbox = await target.sandbox();
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await unary(sandbox, START, method === 'PUT' ? '{}' : '', { method });
      assert.equal(answer.status, 405, method);
      assert.match(answer.headers.allow ?? '', /POST/);
    }
    for (const path of ['/process.Process/Nothing', '/no.Service/Method', '/process.Process/']) {
      const answer = await daemonSend(sandbox, path, {
        method: 'POST',
        body: '{}',
        headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' },
      });
      assert.equal(answer.status, 404, path);
    }
  }),
  check('the protocol version is required and must be 1', [LIST, 'invalid_argument'], async (target) => {
    const sandbox = await target.sandbox();
    for (const version of [undefined, '2', '', 'one'])
      await unaryFails(sandbox, LIST, {}, 'invalid_argument', {
        headers: { 'Connect-Protocol-Version': version },
      });
    for (const version of [undefined, '2'])
      await streamFails(sandbox, START, startMessage({ cmd: '/bin/true' }), 'invalid_argument', {
        headers: { 'Connect-Protocol-Version': version },
      });
  }),
  check(
    'a timeout header that is none gives invalid_argument, 0 means none',
    [LIST, 'invalid_argument'],
    async (target) => {
      const sandbox = await target.sandbox();
      for (const value of ['x', '-5', '12345678901'])
        await unaryFails(sandbox, LIST, {}, 'invalid_argument', { headers: { 'Connect-Timeout-Ms': value } });
      await unaryOk(sandbox, LIST, {}, { headers: { 'Connect-Timeout-Ms': '0' } });
    },
  ),
  check(
    'a body that is no JSON, or of another type, gives invalid_argument',
    [STAT, 'invalid_argument'],
    async (target) => {
      const sandbox = await target.sandbox();
      for (const body of ['{', 'text', '[]', '{"path": 7}', '{"path": ["x"]}'])
        await unaryFails(sandbox, STAT, body, 'invalid_argument');
    },
  ),
  check('a bare JSON document is no stream', [STREAM, 'resource_exhausted'], async (target) =>
    // Its second to fifth character, read as a length, promise more than a message may have.
    streamFails(
      await target.sandbox(),
      STREAM,
      Buffer.from('{"start":{"process":{"pid":1}}}'),
      'resource_exhausted',
    ),
  ),
  check('a frame that is cut short gives invalid_argument', [STREAM, 'invalid_argument'], async (target) => {
    const sandbox = await target.sandbox();
    const whole = frame({ start: { process: { pid: 1 } } });
    for (const length of [1, 4, whole.length - 1])
      await streamFails(sandbox, STREAM, whole.subarray(0, length), 'invalid_argument');
  }),
  check(
    'a frame whose payload is no JSON gives invalid_argument',
    [STREAM, 'invalid_argument'],
    async (target) =>
      streamFails(await target.sandbox(), STREAM, frame(Buffer.from('{"start"')), 'invalid_argument'),
  ),
  check('a compressed frame that was not announced is refused', [STREAM, 'internal'], async (target) => {
    const body = frame(gzipSync(JSON.stringify({ keepalive: {} })), 1);
    const { answer, end } = await sendStream(await target.sandbox(), STREAM, body);
    assert.equal(answer.status, 200);
    assert.ok(['internal', 'invalid_argument'].includes(end?.error?.code ?? ''), answer.text);
  }),
  check('frames compressed with gzip are understood when announced', [STREAM, 'success'], async (target) => {
    const body = frame(gzipSync(JSON.stringify({ keepalive: {} })), 1);
    const { end } = await sendStream(await target.sandbox(), STREAM, body, {
      headers: { 'Connect-Content-Encoding': 'gzip' },
    });
    assert.notEqual(end, undefined);
    assert.equal(end?.error, undefined);
  }),
  check('a unary body compressed with gzip is understood', [LIST, 'success'], async (target) => {
    const answer = await unary(await target.sandbox(), LIST, gzipSync('{}'), {
      headers: { 'Content-Encoding': 'gzip' },
    });
    assert.equal(answer.status, 200, answer.text);
  }),
  check(
    'a message of more than 64 MiB is refused before it is sent',
    [STREAM, 'resource_exhausted'],
    async (target) => {
      const head = frameHead(64 * 1_048_576 + 1);
      const { answer, end } = await sendStream(
        await target.sandbox(),
        STREAM,
        Buffer.concat([head, Buffer.alloc(1_024)]),
      );
      assert.equal(answer.status, 200);
      assert.ok(['resource_exhausted', 'invalid_argument'].includes(end?.error?.code ?? ''), answer.text);
    },
  ),
  check('a missing or wrong token gives the 401 record, on streams too', [START, '401'], async (target) => {
    const sandbox = await target.sandbox();
    for (const procedure of [LIST, START, STREAM, STAT])
      for (const token of [null, 'wrong', `${sandbox.accessToken}0`]) {
        const streaming = procedure === START || procedure === STREAM;
        const answer = await unary(sandbox, procedure, streaming ? frame({}) : {}, {
          token,
          headers: { 'Content-Type': streaming ? 'application/connect+json' : 'application/json' },
        });
        assert.equal(answer.status, 401);
        const record = answer.json() as { code: number; message: string };
        assert.equal(record.code, 401);
        assert.ok(record.message.length > 0);
        assert.equal(answer.headers['x-content-type-options'], 'nosniff');
        assert.ok(!answer.text.includes(sandbox.accessToken));
      }
  }),
  check('the daemon answers preflights of browsers', ['preflight', 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const answer = await send(`${target.sandboxUrl}/process.Process/List`, {
      method: 'OPTIONS',
      headers: {
        'Svc-Sandbox-Id': sandbox.sandboxId,
        'Svc-Sandbox-Port': '49983',
        Origin: 'https://app.example.com',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'x-access-token,connect-protocol-version',
      },
    });
    assert.ok(answer.status === 204 || answer.status === 200, String(answer.status));
    assert.ok(['*', 'https://app.example.com'].includes(answer.headers['access-control-allow-origin'] ?? ''));
    assert.equal(answer.headers['access-control-max-age'], '7200');
  }),
]);

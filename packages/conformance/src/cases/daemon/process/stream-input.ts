import assert from 'node:assert/strict';
import { frame } from '@svc/support/connect-frames';
import { check, type Draft } from '../../../case.js';
import { sendStream, streamFails, unaryOk } from '../../../wire/rpc.js';
import { startProcess } from '../../../wire/run.js';
import { base64, CLOSE, NOBODY, STREAM, selectorOf } from './rpcs.js';

/** Input as a stream. */
export const streamInputCases: Draft[] = [
  check(
    'StreamInput writes all frames in order and answers with one frame and an end',
    [STREAM, 'success'],
    async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
      const process = selectorOf(running.pid);
      const pieces = Array.from({ length: 50 }, (_, index) => `${index},`);
      const body = Buffer.concat([
        frame({ start: { process } }),
        frame({ keepalive: {} }),
        ...pieces.map((piece) => frame({ data: { input: { stdin: base64(piece) } } })),
      ]);
      const { answer, frames } = await sendStream(sandbox, STREAM, body);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['content-type'], 'application/connect+json');
      assert.deepEqual(
        frames.map(({ flags, bytes }) => [flags, bytes.toString()]),
        [
          [0, '{}'],
          [2, '{}'],
        ],
      );
      await unaryOk(sandbox, CLOSE, { process });
      assert.equal((await running.finish()).stdout, pieces.join(''));
    },
  ),
  check('StreamInput of nothing succeeds', [STREAM, 'success'], async (target) => {
    const { frames, end } = await sendStream(await target.sandbox(), STREAM, Buffer.alloc(0));
    assert.equal(frames.length, 2);
    assert.equal(end?.error, undefined);
  }),
  check('a later start switches the target', [STREAM, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const one = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
    const two = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
    const to = (pid: number, text: string) => [
      frame({ start: { process: { pid } } }),
      frame({ data: { input: { stdin: base64(text) } } }),
    ];
    await sendStream(sandbox, STREAM, Buffer.concat([...to(one.pid, 'first'), ...to(two.pid, 'second')]));
    for (const { pid } of [one, two]) await unaryOk(sandbox, CLOSE, { process: { pid } });
    assert.equal((await one.finish()).stdout, 'first');
    assert.equal((await two.finish()).stdout, 'second');
  }),
  check('StreamInput to nothing gives not_found in the end frame', [STREAM, 'not_found'], async (target) =>
    streamFails(await target.sandbox(), STREAM, { start: { process: NOBODY } }, 'not_found'),
  ),
  check('data before start gives failed_precondition', [STREAM, 'failed_precondition'], async (target) =>
    streamFails(
      await target.sandbox(),
      STREAM,
      { data: { input: { stdin: base64('x') } } },
      'failed_precondition',
    ),
  ),
  check('a message of no kind gives unimplemented', [STREAM, 'unimplemented'], async (target) =>
    streamFails(await target.sandbox(), STREAM, {}, 'unimplemented'),
  ),
  check(
    'the first write that fails ends the call, earlier ones stay',
    [STREAM, 'internal'],
    async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
      const body = Buffer.concat([
        frame({ start: { process: { pid: running.pid } } }),
        frame({ data: { input: { stdin: base64('kept') } } }),
        frame({ data: { input: { pty: base64('wrong') } } }),
        frame({ data: { input: { stdin: base64('lost') } } }),
      ]);
      await streamFails(sandbox, STREAM, body, 'internal');
      await unaryOk(sandbox, CLOSE, { process: { pid: running.pid } });
      assert.equal((await running.finish()).stdout, 'kept');
    },
  ),
];

import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unaryFails, unaryOk } from '../../../wire/rpc.js';
import { startProcess, startShell } from '../../../wire/run.js';
import { base64, CLOSE, NOBODY, SEND, SIGNAL, selectorOf, UPDATE } from './rpcs.js';

const missing: Record<string, unknown> = {
  [SEND]: { input: { stdin: base64('x') } },
  [SIGNAL]: { signal: 'SIGNAL_SIGTERM' },
  [UPDATE]: { pty: { size: { cols: 80, rows: 24 } } },
  [CLOSE]: {},
};

/** Single writes, and calls that name no process. */
export const inputCases: Draft[] = [
  check('SendInput writes, also nothing, and CloseStdin ends it', [SEND, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
    const process = selectorOf(running.pid);
    for (const text of ['one ', '', 'two', '\n'])
      assert.deepEqual(await unaryOk(sandbox, SEND, { process, input: { stdin: base64(text) } }), {});
    assert.deepEqual(await unaryOk(sandbox, CLOSE, { process }), {});
    const late = { process, input: { stdin: base64('late') } };
    // The program may have ended already.
    await unaryFails(sandbox, SEND, late, 'internal').catch((error) =>
      unaryFails(sandbox, SEND, late, 'not_found').catch(() => {
        throw error;
      }),
    );
    assert.equal((await running.finish()).stdout, 'one two\n');
  }),
  check('SendInput takes base64 of the URL alphabet too', [SEND, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startProcess(sandbox, { cmd: '/usr/bin/od', args: ['-An', '-tx1'], stdin: true });
    const process = selectorOf(running.pid);
    await unaryOk(sandbox, SEND, { process, input: { stdin: '-_-_' } });
    await unaryOk(sandbox, CLOSE, { process });
    assert.equal((await running.finish()).stdout.trim(), 'fb ff bf');
  }),
  check('input of the wrong kind, or without stdin, gives internal', [SEND, 'internal'], async (target) => {
    const sandbox = await target.sandbox();
    const plain = await startShell(sandbox, 'exec sleep 30');
    const pty = await startProcess(sandbox, { cmd: '/bin/cat', pty: { size: { cols: 80, rows: 24 } } });
    const send = (to: { pid: number }, input: object) =>
      unaryFails(sandbox, SEND, { process: selectorOf(to.pid), input }, 'internal');
    await send(plain, { stdin: base64('x') });
    await send(plain, { pty: base64('x') });
    await send(pty, { stdin: base64('x') });
    const pid = selectorOf(plain.pid);
    await unaryFails(sandbox, UPDATE, { process: pid, pty: { size: { cols: 1, rows: 1 } } }, 'internal');
    for (const one of [plain, pty]) {
      await unaryOk(sandbox, SIGNAL, { process: selectorOf(one.pid), signal: 'SIGNAL_SIGKILL' });
      one.leave();
    }
  }),
  check('input of no kind gives unimplemented', [SEND, 'unimplemented'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
    await unaryFails(sandbox, SEND, { process: selectorOf(running.pid), input: {} }, 'unimplemented');
    await unaryOk(sandbox, CLOSE, { process: selectorOf(running.pid) });
    await running.finish();
  }),
  ...Object.entries(missing).flatMap(([operation, message]): Draft[] => [
    check(`${operation} of nothing gives not_found`, [operation, 'not_found'], async (target) => {
      const sandbox = await target.sandbox();
      await unaryFails(sandbox, operation, { ...(message as object), process: NOBODY }, 'not_found');
      await unaryFails(
        sandbox,
        operation,
        { ...(message as object), process: { tag: 'nobody' } },
        'not_found',
      );
    }),
    check(
      `${operation} without a selector gives unimplemented`,
      [operation, 'unimplemented'],
      async (target) => {
        const sandbox = await target.sandbox();
        await unaryFails(sandbox, operation, { ...(message as object), process: {} }, 'unimplemented');
      },
    ),
  ]),
];

import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { unaryFails, unaryOk } from '../../../wire/rpc.js';
import { startProcess } from '../../../wire/run.js';
import { base64, CLOSE, NOBODY, SEND, SIGNAL, selectorOf, UPDATE } from './rpcs.js';

const missing: Record<string, unknown> = {
  [SEND]: { input: { stdin: base64('x') } },
  [SIGNAL]: { signal: 'SIGNAL_SIGTERM' },
  [UPDATE]: { pty: { size: { cols: 80, rows: 24 } } },
  [CLOSE]: {},
};

/** Single writes, and calls that name no process. */
export const inputCases: Draft[] = [
  {
    name: 'SendInput writes, also nothing, and CloseStdin ends it',
    operation: SEND,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
      const process = selectorOf(running.pid);
      for (const text of ['one ', '', 'two', '\n'])
        assert.deepEqual(await unaryOk(sandbox, SEND, { process, input: { stdin: base64(text) } }), {});
      assert.deepEqual(await unaryOk(sandbox, CLOSE, { process }), {});
      await unaryFails(sandbox, SEND, { process, input: { stdin: base64('late') } }, 'internal').catch(
        async (error) => {
          // The program may have ended already.
          await unaryFails(sandbox, SEND, { process, input: { stdin: base64('late') } }, 'not_found').catch(
            () => {
              throw error;
            },
          );
        },
      );
      assert.equal((await running.finish()).stdout, 'one two\n');
    },
  },
  {
    name: 'SendInput takes base64 of the URL alphabet too',
    operation: SEND,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/usr/bin/od', args: ['-An', '-tx1'], stdin: true });
      const process = selectorOf(running.pid);
      await unaryOk(sandbox, SEND, { process, input: { stdin: '-_-_' } });
      await unaryOk(sandbox, CLOSE, { process });
      assert.equal((await running.finish()).stdout.trim(), 'fb ff bf');
    },
  },
  {
    name: 'input of the wrong kind, or without stdin, gives internal',
    operation: SEND,
    expects: 'internal',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const plain = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', 'exec sleep 30'],
        stdin: false,
      });
      const pty = await startProcess(sandbox, { cmd: '/bin/cat', pty: { size: { cols: 80, rows: 24 } } });
      await unaryFails(
        sandbox,
        SEND,
        { process: selectorOf(plain.pid), input: { stdin: base64('x') } },
        'internal',
      );
      await unaryFails(
        sandbox,
        SEND,
        { process: selectorOf(plain.pid), input: { pty: base64('x') } },
        'internal',
      );
      await unaryFails(
        sandbox,
        SEND,
        { process: selectorOf(pty.pid), input: { stdin: base64('x') } },
        'internal',
      );
      await unaryFails(
        sandbox,
        UPDATE,
        { process: selectorOf(plain.pid), pty: { size: { cols: 1, rows: 1 } } },
        'internal',
      );
      for (const one of [plain, pty]) {
        await unaryOk(sandbox, SIGNAL, { process: selectorOf(one.pid), signal: 'SIGNAL_SIGKILL' });
        one.leave();
      }
    },
  },
  {
    name: 'input of no kind gives unimplemented',
    operation: SEND,
    expects: 'unimplemented',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
      await unaryFails(sandbox, SEND, { process: selectorOf(running.pid), input: {} }, 'unimplemented');
      await unaryOk(sandbox, CLOSE, { process: selectorOf(running.pid) });
      await running.finish();
    },
  },
  ...Object.entries(missing).flatMap(([operation, message]): Draft[] => [
    {
      name: `${operation} of nothing gives not_found`,
      operation,
      expects: 'not_found',
      run: async (target) => {
        const sandbox = await target.sandbox();
        await unaryFails(sandbox, operation, { ...(message as object), process: NOBODY }, 'not_found');
        await unaryFails(
          sandbox,
          operation,
          { ...(message as object), process: { tag: 'nobody' } },
          'not_found',
        );
      },
    },
    {
      name: `${operation} without a selector gives unimplemented`,
      operation,
      expects: 'unimplemented',
      run: async (target) => {
        const sandbox = await target.sandbox();
        await unaryFails(sandbox, operation, { ...(message as object), process: {} }, 'unimplemented');
      },
    },
  ]),
];

import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { unique } from '../../../requests/samples.js';
import { streamFails, unaryOk } from '../../../wire/rpc.js';
import { attach, startProcess } from '../run.js';
import { base64, CLOSE, CONNECT, LIST, type Listed, NOBODY, SEND, selectorOf } from './rpcs.js';

/** Connecting to a program, and listing them. */
export const readerCases: Draft[] = [
  {
    name: 'several readers each get what is printed after they came',
    operation: CONNECT,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const tag = unique('shared');
      const first = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', 'read a; echo "got $a"'],
        tag,
        stdin: true,
      });
      const second = await attach(sandbox, { tag });
      const third = await attach(sandbox, { pid: first.pid });
      assert.equal(second.pid, first.pid);
      await unaryOk(sandbox, SEND, { process: { tag }, input: { stdin: base64('it\n') } });
      for (const one of [first, second, third]) {
        const { stdout, end } = await one.finish();
        assert.equal(stdout, 'got it\n');
        assert.equal(end?.status, 'exit status 0');
      }
    },
  },
  {
    name: 'the end of a program can still be read a little later',
    operation: CONNECT,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/sh', args: ['-c', 'echo x; exit 3'] });
      await running.finish();
      const late = await attach(sandbox, { pid: running.pid });
      const { stdout, end } = await late.finish();
      assert.equal(stdout, '');
      assert.equal(end?.exitCode, 3);
    },
  },
  {
    name: 'connecting to nothing gives not_found',
    operation: CONNECT,
    expects: 'not_found',
    run: async (target) => {
      const sandbox = await target.sandbox();
      await streamFails(sandbox, CONNECT, { process: NOBODY }, 'not_found');
      await streamFails(sandbox, CONNECT, { process: { tag: 'nobody' } }, 'not_found');
    },
  },
  {
    name: 'connecting without a selector gives unimplemented',
    operation: CONNECT,
    expects: 'unimplemented',
    run: async (target) => streamFails(await target.sandbox(), CONNECT, { process: {} }, 'unimplemented'),
  },
  {
    name: 'List tells what was asked for, and forgets what ended',
    operation: LIST,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      assert.deepEqual(await unaryOk(sandbox, LIST, {}), {});
      const running = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', 'read x'],
        envs: { A: 'b' },
        cwd: '/',
        tag: 'listed',
        stdin: true,
      });
      const { processes } = await unaryOk<Listed>(sandbox, LIST, {});
      assert.deepEqual(processes, [
        {
          config: { cmd: '/bin/sh', args: ['-c', 'read x'], envs: { A: 'b' }, cwd: '/' },
          pid: running.pid,
          tag: 'listed',
        },
      ]);
      await unaryOk(sandbox, CLOSE, { process: selectorOf(running.pid) });
      await running.finish();
      assert.deepEqual(await unaryOk(sandbox, LIST, {}), {});
    },
  },
];

import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unaryFails, unaryOk } from '../../../wire/rpc.js';
import { startProcess, startShell } from '../../../wire/run.js';
import { base64, CLOSE, SEND, SIGNAL, selectorOf, UPDATE } from './rpcs.js';

/** Signals, terminals, the end of input. */
export const controlCases: Draft[] = [
  check('signals reach the program', [SIGNAL, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    for (const [signal, status] of [
      ['SIGNAL_SIGTERM', 'signal: terminated'],
      ['SIGNAL_SIGKILL', 'signal: killed'],
      [15, 'signal: terminated'],
    ] as const) {
      const running = await startShell(sandbox, 'echo up; exec sleep 30');
      await running.until('up');
      assert.deepEqual(await unaryOk(sandbox, SIGNAL, { process: selectorOf(running.pid), signal }), {});
      assert.equal((await running.finish()).end?.status, status);
    }
  }),
  check('other signals give unimplemented', [SIGNAL, 'unimplemented'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
    for (const signal of ['SIGNAL_UNSPECIFIED', 2, 1])
      await unaryFails(sandbox, SIGNAL, { process: selectorOf(running.pid), signal }, 'unimplemented');
    await unaryOk(sandbox, CLOSE, { process: selectorOf(running.pid) });
    await running.finish();
  }),
  check('a terminal has a size, echoes, and can be resized', [UPDATE, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startProcess(sandbox, {
      cmd: '/bin/sh',
      pty: { size: { cols: 91, rows: 33 } },
      stdin: true,
    });
    const process = selectorOf(running.pid);
    const type = (text: string) => unaryOk(sandbox, SEND, { process, input: { pty: base64(text) } });
    await type('stty size\n');
    await running.until('33 91');
    assert.deepEqual(await unaryOk(sandbox, UPDATE, { process, pty: { size: { cols: 71, rows: 22 } } }), {});
    await type('stty size\n');
    await running.until('22 71');
    assert.deepEqual(await unaryOk(sandbox, UPDATE, { process }), {}, 'without a size nothing happens');
    await unaryFails(sandbox, CLOSE, { process }, 'unknown', { text: /0x04|Ctrl/i });
    await type('exit 5\n');
    const { end, stdout } = await running.finish();
    assert.equal(end?.exitCode, 5);
    assert.equal(stdout, '', 'a terminal has one stream');
  }),
  check('CloseStdin may be called again, and where there is no stdin', [CLOSE, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startShell(sandbox, 'exec sleep 30', { stdin: true });
    const without = await startShell(sandbox, 'exec sleep 30');
    for (const { pid } of [running, running, without]) await unaryOk(sandbox, CLOSE, { process: { pid } });
    for (const one of [running, without]) {
      await unaryOk(sandbox, SIGNAL, { process: { pid: one.pid }, signal: 'SIGNAL_SIGKILL' });
      await one.finish();
    }
  }),
];

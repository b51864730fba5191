import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unique } from '../../../requests/samples.js';
import { streamFails, unaryOk } from '../../../wire/rpc.js';
import { attach, startShell } from '../../../wire/run.js';
import { base64, CLOSE, CONNECT, LIST, type Listed, NOBODY, SEND, selectorOf } from './rpcs.js';

/** Connecting to a program, and listing them. */
export const readerCases: Draft[] = [
  check('several readers each get what is printed after they came', [CONNECT, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const tag = unique('shared');
    const first = await startShell(sandbox, 'read a; echo "got $a"', { tag, stdin: true });
    const second = await attach(sandbox, { tag });
    const third = await attach(sandbox, { pid: first.pid });
    assert.equal(second.pid, first.pid);
    await unaryOk(sandbox, SEND, { process: { tag }, input: { stdin: base64('it\n') } });
    for (const one of [first, second, third]) {
      const { stdout, end } = await one.finish();
      assert.equal(stdout, 'got it\n');
      assert.equal(end?.status, 'exit status 0');
    }
  }),
  check('the end of a program can still be read a little later', [CONNECT, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startShell(sandbox, 'echo x; exit 3');
    await running.finish();
    const late = await attach(sandbox, { pid: running.pid });
    const { stdout, end } = await late.finish();
    assert.equal(stdout, '');
    assert.equal(end?.exitCode, 3);
  }),
  check(
    'the output of an ended program is replayed from the beginning, or from any offset',
    [CONNECT, 'success'],
    async (target) => {
      const sandbox = await target.sandbox();
      const script = 'echo one; echo two >&2; exit 3';
      const running = await startShell(sandbox, script);
      await running.finish();
      const whole = await attach(sandbox, { pid: running.pid }, 0);
      assert.deepEqual(whole.start, { ...running.start, offset: '0' });
      const { stdout, stderr, end } = await whole.finish();
      assert.deepEqual([stdout, stderr, end?.exitCode], ['one\n', 'two\n', 3]);
      const rest = await (await attach(sandbox, { pid: running.pid }, '6')).finish();
      assert.equal(`${rest.stdout}${rest.stderr}`.length, 2);
      const past = await attach(sandbox, { pid: running.pid }, '18446744073709551615');
      assert.equal(past.start.offset, '8');
      assert.deepEqual((await past.finish()).end?.exitCode, 3);
    },
  ),
  check(
    'output that was printed while nobody read is replayed, then followed',
    [CONNECT, 'success'],
    async (target) => {
      const sandbox = await target.sandbox();
      const script = 'read a; echo "first $a"; echo ready >&2; read b; echo "second $b"';
      const first = await startShell(sandbox, script, { stdin: true });
      first.leave();
      const process = selectorOf(first.pid);
      await unaryOk(sandbox, SEND, { process, input: { stdin: base64('x\n') } });
      const again = await attach(sandbox, process, 0);
      await again.until('ready');
      await unaryOk(sandbox, SEND, { process, input: { stdin: base64('y\n') } });
      assert.equal((await again.finish()).stdout, 'first x\nsecond y\n');
    },
  ),
  check(
    'of more output than is kept the latest is replayed, and the start says where it begins',
    [CONNECT, 'success'],
    async (target) => {
      const sandbox = await target.sandbox();
      const size = 8_000_000;
      const script = `head -c ${size} /dev/zero`;
      const running = await startShell(sandbox, script);
      const whole = await running.finish();
      assert.equal(whole.stdout.length, size);
      const late = await attach(sandbox, { pid: running.pid }, 1);
      const offset = Number(late.start.offset);
      assert.ok(offset > 1 && offset < size, `offset ${offset}`);
      assert.equal(offset + (await late.finish()).stdout.length, size);
    },
  ),
  check(
    'connecting with an offset that is none gives invalid_argument',
    [CONNECT, 'invalid_argument'],
    async (target) => {
      const sandbox = await target.sandbox();
      for (const from of [-1, 1.5, 'x', '18446744073709551616'])
        await streamFails(sandbox, CONNECT, { process: NOBODY, from }, 'invalid_argument');
    },
  ),
  check('connecting to nothing gives not_found', [CONNECT, 'not_found'], async (target) => {
    const sandbox = await target.sandbox();
    await streamFails(sandbox, CONNECT, { process: NOBODY }, 'not_found');
    await streamFails(sandbox, CONNECT, { process: { tag: 'nobody' } }, 'not_found');
  }),
  check('connecting without a selector gives unimplemented', [CONNECT, 'unimplemented'], async (target) =>
    streamFails(await target.sandbox(), CONNECT, { process: {} }, 'unimplemented'),
  ),
  check('List returns what was asked for, and forgets what ended', [LIST, 'success'], async (target) => {
    const sandbox = await target.newSandbox();
    assert.deepEqual(await unaryOk(sandbox, LIST, {}), {});
    const running = await startShell(sandbox, 'read x', {
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
        startedAt: running.start.startedAt,
      },
    ]);
    assert.ok(Math.abs(Date.parse(processes?.[0]?.startedAt ?? '') - Date.now()) < 60_000);
    await unaryOk(sandbox, CLOSE, { process: selectorOf(running.pid) });
    await running.finish();
    assert.deepEqual(await unaryOk(sandbox, LIST, {}), {});
  }),
];

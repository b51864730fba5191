import assert from 'node:assert/strict';
import { casesOf, type Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { call } from '../../wire/call.js';
import { eventually } from '../../wire/eventually.js';
import { frame } from '../../wire/frames.js';
import { sendStream, streamFails, unaryFails, unaryOk } from '../../wire/rpc.js';
import { attach, run, startMessage, startProcess } from './run.js';

const START = 'process.Process/Start';
const CONNECT = 'process.Process/Connect';
const LIST = 'process.Process/List';
const SEND = 'process.Process/SendInput';
const STREAM = 'process.Process/StreamInput';
const SIGNAL = 'process.Process/SendSignal';
const UPDATE = 'process.Process/Update';
const CLOSE = 'process.Process/CloseStdin';
const NOBODY = { pid: 4_194_300 };
const base64 = (text: string) => Buffer.from(text).toString('base64');
const selectorOf = (pid: number) => ({ pid });

interface Listed {
  processes?: {
    pid: number;
    tag?: string;
    config: { cmd: string; args?: string[]; envs?: object; cwd?: string };
  }[];
}

const missing: Record<string, unknown> = {
  [SEND]: { input: { stdin: base64('x') } },
  [SIGNAL]: { signal: 'SIGNAL_SIGTERM' },
  [UPDATE]: { pty: { size: { cols: 80, rows: 24 } } },
  [CLOSE]: {},
};

/** The Process service, line by line. */
export const processCases = casesOf('process', [
  {
    name: 'Start tells the pid, the output and the end, in this order',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/sh', args: ['-c', 'echo out; echo err >&2'] });
      assert.ok(running.pid > 0);
      const { stdout, stderr, end, error } = await running.finish();
      assert.equal(stdout, 'out\n');
      assert.equal(stderr, 'err\n');
      assert.deepEqual(end, { exited: true, status: 'exit status 0' });
      assert.equal(error, undefined);
    },
  },
  {
    name: 'a program that fails tells its exit code',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const { end } = await run(await target.sandbox(), 'exit 7');
      assert.deepEqual(end, { exitCode: 7, exited: true, status: 'exit status 7', error: 'exit status 7' });
    },
  },
  {
    name: 'a program ended by a signal tells which',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const [signal, text] of [
        ['KILL', 'signal: killed'],
        ['TERM', 'signal: terminated'],
      ]) {
        const { end } = await run(sandbox, `kill -${signal} $$`);
        assert.deepEqual(end, { exitCode: -1, status: text, error: text });
      }
    },
  },
  {
    name: 'a program that is not there starts, and ends with 127',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const running = await startProcess(await target.sandbox(), { cmd: 'no-such-program-anywhere' });
      const { stderr, end } = await running.finish();
      assert.equal(end?.exitCode, 127);
      assert.ok(stderr.length > 0);
    },
  },
  {
    name: 'a file that may not be executed ends with 126',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const name = unique('plain');
      await run(sandbox, `echo text > ~/${name}; chmod 644 ~/${name}`);
      const { stdout: home } = await run(sandbox, 'printf %s "$HOME"');
      const { end } = await (await startProcess(sandbox, { cmd: `${home}/${name}` })).finish();
      assert.equal(end?.exitCode, 126);
    },
  },
  {
    name: 'arguments reach the program as they are',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const args = [
        '-c',
        'for a in "$@"; do printf "[%s]" "$a"; done',
        'sh',
        'a b',
        '',
        '$HOME',
        'ä;`x`',
        "'",
      ];
      const { stdout } = await (
        await startProcess(await target.sandbox(), { cmd: '/bin/sh', args })
      ).finish();
      assert.equal(stdout, "[a b][][$HOME][ä;`x`][']");
    },
  },
  {
    name: 'the environment is the given one and little else',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({ envVars: { SHARED: 'global', OVER: 'global' } });
      const running = await startProcess(sandbox, {
        cmd: '/usr/bin/env',
        envs: { OVER: 'call', MORE: '=x' },
      });
      const lines = (await running.finish()).stdout.trim().split('\n');
      const env = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      );
      assert.equal(env.SHARED, 'global');
      assert.equal(env.OVER, 'call');
      assert.equal(env.MORE, '=x');
      assert.equal(env.SVC_SANDBOX, 'true');
      assert.equal(env.SVC_SANDBOX_ID, sandbox.sandboxId);
      for (const name of ['PATH', 'HOME', 'USER', 'LOGNAME']) assert.ok((env[name] ?? '') !== '', name);
      const known =
        /^(SHARED|OVER|MORE|SVC_\w+|PATH|HOME|USER|LOGNAME|PWD|OLDPWD|SHLVL|_|.*(CERT|CA_BUNDLE).*)$/;
      const strange = Object.keys(env).filter((name) => !known.test(name));
      assert.deepEqual(strange, [], 'nothing else is inherited');
    },
  },
  {
    name: 'the working directory is the home, or the given one',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const where = async (cwd?: string) =>
        (
          await (
            await startProcess(sandbox, { cmd: '/bin/pwd', ...(cwd === undefined ? {} : { cwd }) })
          ).finish()
        ).stdout.trim();
      const name = unique('dir');
      await run(sandbox, `mkdir -p ~/${name}/deep`);
      const home = await where();
      assert.equal(await where('/'), '/');
      assert.equal(await where('~'), home);
      assert.equal(await where(`~/${name}`), `${home}/${name}`);
      assert.equal(await where(`${name}/deep`), `${home}/${name}/deep`);
    },
  },
  {
    name: 'a working directory that is not there is refused with its path',
    operation: START,
    expects: 'invalid_argument',
    run: async (target) =>
      streamFails(
        await target.sandbox(),
        START,
        startMessage({ cmd: '/bin/true', cwd: '/no/such/place' }),
        'invalid_argument',
        {
          text: /\/no\/such\/place/,
        },
      ),
  },
  {
    name: 'a user that is not there is refused by name',
    operation: START,
    expects: 'unauthenticated',
    run: async (target) =>
      streamFails(await target.sandbox(), START, startMessage({ cmd: '/bin/true' }), 'unauthenticated', {
        user: 'nobody-of-this-name',
        text: /nobody-of-this-name/,
      }),
  },
  {
    name: 'programs run as the user that is asked for',
    operation: START,
    expects: 'success',
    needs: ['users'],
    run: async (target) => {
      const sandbox = await target.sandbox();
      assert.equal(
        (await run(sandbox, 'id -un; id -u; echo $HOME $USER $LOGNAME')).stdout,
        'user\n1000\n/home/user user user\n',
      );
      assert.equal((await run(sandbox, 'id -un; echo $HOME', { user: 'root' })).stdout, 'root\n/root\n');
    },
  },
  {
    name: 'without stdin it reads nothing',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const { stdout, end } = await (
        await startProcess(await target.sandbox(), { cmd: '/bin/cat', stdin: false })
      ).finish();
      assert.equal(stdout, '');
      assert.equal(end?.exited, true);
    },
  },
  {
    name: 'a client that leaves does not end the program',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const tag = unique('left');
      const running = await startProcess(sandbox, { cmd: '/bin/sh', args: ['-c', 'sleep 30'], tag });
      running.leave();
      const { processes = [] } = await unaryOk<Listed>(sandbox, LIST, {});
      assert.ok(processes.some((one) => one.tag === tag && one.pid === running.pid));
      await unaryOk(sandbox, SIGNAL, { process: selectorOf(running.pid), signal: 'SIGNAL_SIGKILL' });
    },
  },
  {
    name: 'a timeout kills the program and ends the stream',
    operation: START,
    expects: 'deadline_exceeded',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(
        sandbox,
        { cmd: '/bin/sh', args: ['-c', 'exec sleep 60'] },
        { headers: { 'Connect-Timeout-Ms': '1500' } },
      );
      const { end, error } = await running.finish();
      assert.equal(end, undefined);
      assert.equal(error, 'deadline_exceeded');
      const late = await attach(sandbox, { pid: running.pid });
      assert.equal((await late.finish()).end?.status, 'signal: killed');
    },
  },
  {
    name: 'a timeout that is no number is refused',
    operation: START,
    expects: 'invalid_argument',
    run: async (target) => {
      for (const value of ['soon', '-1', '1.5', '99999999999'])
        await streamFails(
          await target.sandbox(),
          START,
          startMessage({ cmd: '/bin/true' }),
          'invalid_argument',
          {
            headers: { 'Connect-Timeout-Ms': value },
          },
        );
    },
  },
  {
    name: 'keepalives come as often as asked',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const running = await startProcess(
        await target.sandbox(),
        { cmd: '/bin/sh', args: ['-c', 'sleep 30'] },
        { headers: { 'Keepalive-Ping-Interval': '1' } },
      );
      assert.ok((await running.next())?.keepalive !== undefined);
      await unaryOk(await target.sandbox(), SIGNAL, {
        process: selectorOf(running.pid),
        signal: 'SIGNAL_SIGKILL',
      });
      await running.finish();
    },
  },
  {
    name: 'a megabyte of output arrives whole, in pieces of at most 32 KiB',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const running = await startProcess(await target.sandbox(), {
        cmd: '/bin/sh',
        args: ['-c', 'head -c 1048576 /dev/zero'],
      });
      let bytes = 0;
      for (let event = await running.next(); event !== undefined; event = await running.next()) {
        const size = Buffer.from(event.data?.stdout ?? '', 'base64').length;
        assert.ok(size <= 32_768, String(size));
        bytes += size;
      }
      assert.equal(bytes, 1_048_576);
    },
  },
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
  {
    name: 'signals reach the program',
    operation: SIGNAL,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const [signal, status] of [
        ['SIGNAL_SIGTERM', 'signal: terminated'],
        ['SIGNAL_SIGKILL', 'signal: killed'],
        [15, 'signal: terminated'],
      ] as const) {
        const running = await startProcess(sandbox, {
          cmd: '/bin/sh',
          args: ['-c', 'echo up; exec sleep 30'],
        });
        await running.until('up');
        assert.deepEqual(await unaryOk(sandbox, SIGNAL, { process: selectorOf(running.pid), signal }), {});
        assert.equal((await running.finish()).end?.status, status);
      }
    },
  },
  {
    name: 'other signals give unimplemented',
    operation: SIGNAL,
    expects: 'unimplemented',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, { cmd: '/bin/cat', stdin: true });
      for (const signal of ['SIGNAL_UNSPECIFIED', 2, 1])
        await unaryFails(sandbox, SIGNAL, { process: selectorOf(running.pid), signal }, 'unimplemented');
      await unaryOk(sandbox, CLOSE, { process: selectorOf(running.pid) });
      await running.finish();
    },
  },
  {
    name: 'a terminal has a size, echoes, and can be resized',
    operation: UPDATE,
    expects: 'success',
    run: async (target) => {
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
      assert.deepEqual(
        await unaryOk(sandbox, UPDATE, { process, pty: { size: { cols: 71, rows: 22 } } }),
        {},
      );
      await type('stty size\n');
      await running.until('22 71');
      assert.deepEqual(await unaryOk(sandbox, UPDATE, { process }), {}, 'without a size nothing happens');
      await unaryFails(sandbox, CLOSE, { process }, 'unknown', { text: /0x04|Ctrl/i });
      await type('exit 5\n');
      const { end, stdout } = await running.finish();
      assert.equal(end?.exitCode, 5);
      assert.equal(stdout, '', 'a terminal has one stream');
    },
  },
  {
    name: 'CloseStdin may be called again, and where there is no stdin',
    operation: CLOSE,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const running = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', 'exec sleep 30'],
        stdin: true,
      });
      const without = await startProcess(sandbox, { cmd: '/bin/sh', args: ['-c', 'exec sleep 30'] });
      for (const { pid } of [running, running, without]) await unaryOk(sandbox, CLOSE, { process: { pid } });
      for (const one of [running, without]) {
        await unaryOk(sandbox, SIGNAL, { process: { pid: one.pid }, signal: 'SIGNAL_SIGKILL' });
        await one.finish();
      }
    },
  },
  {
    name: 'StreamInput writes all frames in order and answers with one frame and an end',
    operation: STREAM,
    expects: 'success',
    run: async (target) => {
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
  },
  {
    name: 'StreamInput of nothing succeeds',
    operation: STREAM,
    expects: 'success',
    run: async (target) => {
      const { frames, end } = await sendStream(await target.sandbox(), STREAM, Buffer.alloc(0));
      assert.equal(frames.length, 2);
      assert.equal(end?.error, undefined);
    },
  },
  {
    name: 'a later start switches the target',
    operation: STREAM,
    expects: 'success',
    run: async (target) => {
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
    },
  },
  {
    name: 'StreamInput to nothing gives not_found in the end frame',
    operation: STREAM,
    expects: 'not_found',
    run: async (target) =>
      streamFails(await target.sandbox(), STREAM, { start: { process: NOBODY } }, 'not_found'),
  },
  {
    name: 'data before start gives failed_precondition',
    operation: STREAM,
    expects: 'failed_precondition',
    run: async (target) =>
      streamFails(
        await target.sandbox(),
        STREAM,
        { data: { input: { stdin: base64('x') } } },
        'failed_precondition',
      ),
  },
  {
    name: 'a message of no kind gives unimplemented',
    operation: STREAM,
    expects: 'unimplemented',
    run: async (target) => streamFails(await target.sandbox(), STREAM, {}, 'unimplemented'),
  },
  {
    name: 'the first write that fails ends the call, earlier ones stay',
    operation: STREAM,
    expects: 'internal',
    run: async (target) => {
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
  },
  {
    name: 'a slow reader slows the program down and loses nothing',
    operation: START,
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const file = unique('done');
      const running = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', `head -c 50000000 /dev/zero; touch ~/${file}`],
      });
      await running.next();
      // Nobody reads: 50 MB do not fit into what lies between, so the program must wait.
      const probe = await run(sandbox, `sleep 1; test -e ~/${file} && echo done || echo waits`);
      assert.equal(probe.stdout, 'waits\n');
      const { end } = await running.finish();
      assert.equal(end?.status, 'exit status 0');
    },
  },
  {
    name: 'what processes print is found in the log of the sandbox',
    operation: 'getSandboxLogsV2',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      const word = unique('printed');
      await run(sandbox, `echo ${word}; echo ${word} >&2`);
      await eventually('both lines in the log', async () => {
        const answer = await call(target, 'getSandboxLogsV2', {
          path: { sandboxID: sandbox.sandboxId },
          query: { search: word },
        });
        const { logs } = answer.json() as { logs: { level: string; message: string }[] };
        return logs.some((one) => one.level === 'info') && logs.some((one) => one.level === 'error')
          ? true
          : undefined;
      });
    },
  },
]);

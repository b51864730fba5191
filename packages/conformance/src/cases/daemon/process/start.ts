import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unique } from '../../../requests/samples.js';
import { streamFails, unaryOk } from '../../../wire/rpc.js';
import { attach, run, startMessage, startProcess, startShell } from '../../../wire/run.js';
import { LIST, type Listed, SIGNAL, START, selectorOf } from './rpcs.js';

/** Starting a program, and the report of its end. */
export const startCases: Draft[] = [
  check(
    'Start reports the pid, the output and the end, in this order',
    [START, 'success'],
    async (target) => {
      const sandbox = await target.sandbox();
      const running = await startShell(sandbox, 'echo out; echo err >&2');
      assert.ok(running.pid > 0);
      const { stdout, stderr, end, error } = await running.finish();
      assert.equal(stdout, 'out\n');
      assert.equal(stderr, 'err\n');
      assert.deepEqual(end, { exited: true, status: 'exit status 0' });
      assert.equal(error, undefined);
    },
  ),
  check('a program that fails reports its exit code', [START, 'success'], async (target) => {
    const { end } = await run(await target.sandbox(), 'exit 7');
    assert.deepEqual(end, { exitCode: 7, exited: true, status: 'exit status 7', error: 'exit status 7' });
  }),
  check('a program ended by a signal reports which', [START, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    for (const [signal, text] of [
      ['KILL', 'signal: killed'],
      ['TERM', 'signal: terminated'],
    ]) {
      const { end } = await run(sandbox, `kill -${signal} $$`);
      assert.deepEqual(end, { exitCode: -1, status: text, error: text });
    }
  }),
  check('a program that is not there starts, and ends with 127', [START, 'success'], async (target) => {
    const running = await startProcess(await target.sandbox(), { cmd: 'no-such-program-anywhere' });
    const { stderr, end } = await running.finish();
    assert.equal(end?.exitCode, 127);
    assert.ok(stderr.length > 0);
  }),
  check('a file that may not be executed ends with 126', [START, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const name = unique('plain');
    await run(sandbox, `echo text > ~/${name}; chmod 644 ~/${name}`);
    const { stdout: home } = await run(sandbox, 'printf %s "$HOME"');
    const { end } = await (await startProcess(sandbox, { cmd: `${home}/${name}` })).finish();
    assert.equal(end?.exitCode, 126);
  }),
  check('arguments reach the program as they are', [START, 'success'], async (target) => {
    const args = ['-c', 'for a in "$@"; do printf "[%s]" "$a"; done', 'sh', 'a b', '', '$HOME', 'ä;`x`', "'"];
    const { stdout } = await (await startProcess(await target.sandbox(), { cmd: '/bin/sh', args })).finish();
    assert.equal(stdout, "[a b][][$HOME][ä;`x`][']");
  }),
  check('the environment is the given one and little else', [START, 'success'], async (target) => {
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
  }),
  check('the working directory is the home, or the given one', [START, 'success'], async (target) => {
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
  }),
  check(
    'a working directory that is not there is refused with its path',
    [START, 'invalid_argument'],
    async (target) =>
      streamFails(
        await target.sandbox(),
        START,
        startMessage({ cmd: '/bin/true', cwd: '/no/such/place' }),
        'invalid_argument',
        {
          text: /\/no\/such\/place/,
        },
      ),
  ),
  check('a user that is not there is refused by name', [START, 'unauthenticated'], async (target) =>
    streamFails(await target.sandbox(), START, startMessage({ cmd: '/bin/true' }), 'unauthenticated', {
      user: 'nobody-of-this-name',
      text: /nobody-of-this-name/,
    }),
  ),
  check(
    'programs run as the user that is asked for',
    [START, 'success', { needs: ['users'] }],
    async (target) => {
      const sandbox = await target.sandbox();
      assert.equal(
        (await run(sandbox, 'id -un; id -u; echo $HOME $USER $LOGNAME')).stdout,
        'user\n1000\n/home/user user user\n',
      );
      assert.equal((await run(sandbox, 'id -un; echo $HOME', { user: 'root' })).stdout, 'root\n/root\n');
    },
  ),
  check('without stdin it reads nothing', [START, 'success'], async (target) => {
    const { stdout, end } = await (
      await startProcess(await target.sandbox(), { cmd: '/bin/cat', stdin: false })
    ).finish();
    assert.equal(stdout, '');
    assert.equal(end?.exited, true);
  }),
  check('a client that leaves does not end the program', [START, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const tag = unique('left');
    const running = await startShell(sandbox, 'sleep 30', { tag });
    running.leave();
    const { processes = [] } = await unaryOk<Listed>(sandbox, LIST, {});
    assert.ok(processes.some((one) => one.tag === tag && one.pid === running.pid));
    await unaryOk(sandbox, SIGNAL, { process: selectorOf(running.pid), signal: 'SIGNAL_SIGKILL' });
  }),
  check('a timeout kills the program and ends the stream', [START, 'deadline_exceeded'], async (target) => {
    const sandbox = await target.sandbox();
    const running = await startShell(
      sandbox,
      'exec sleep 60',
      {},
      { headers: { 'Connect-Timeout-Ms': '4000' } },
    );
    const { end, error } = await running.finish();
    assert.equal(end, undefined);
    assert.equal(error, 'deadline_exceeded');
    const late = await attach(sandbox, { pid: running.pid });
    assert.equal((await late.finish()).end?.status, 'signal: killed');
  }),
  check('a timeout that is no number is refused', [START, 'invalid_argument'], async (target) => {
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
  }),
  check('keepalives come as often as asked', [START, 'success'], async (target) => {
    const running = await startShell(
      await target.sandbox(),
      'sleep 30',
      {},
      { headers: { 'Keepalive-Ping-Interval': '1' } },
    );
    assert.ok((await running.next())?.keepalive !== undefined);
    await unaryOk(await target.sandbox(), SIGNAL, {
      process: selectorOf(running.pid),
      signal: 'SIGNAL_SIGKILL',
    });
    await running.finish();
  }),
  check(
    'a megabyte of output arrives whole, in pieces of at most 32 KiB',
    [START, 'success'],
    async (target) => {
      const running = await startShell(await target.sandbox(), 'head -c 1048576 /dev/zero');
      let bytes = 0;
      for (let event = await running.next(); event !== undefined; event = await running.next()) {
        const size = Buffer.from(event.data?.stdout ?? '', 'base64').length;
        assert.ok(size <= 32_768, String(size));
        bytes += size;
      }
      assert.equal(bytes, 1_048_576);
    },
  ),
];

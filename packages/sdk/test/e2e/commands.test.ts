import { eventually } from '@svc/support/eventually';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  CommandExitError,
  CommandTimeoutError,
  InvalidRequestError,
  ProcessNotFoundError,
  type Sandbox,
} from '../../src/index.js';

describeOnServer('commands', (fixture) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(async () => {
    await sandbox?.kill();
  });

  it('runs a command line and gives what it wrote', async () => {
    const result = await sandbox.commands.run('echo out; echo err >&2');
    expect(result).toEqual({ exitCode: 0, stdout: 'out\n', stderr: 'err\n' });
  });

  it('throws for an exit status other than 0, with everything in the error', async () => {
    const failure = sandbox.commands.run('echo some; echo why >&2; exit 3');
    await expect(failure).rejects.toMatchObject({
      name: 'CommandExitError',
      exitCode: 3,
      stdout: 'some\n',
      stderr: 'why\n',
      error: 'exit status 3',
    });
    await expect(failure).rejects.toSatisfy((error) => CommandExitError.is(error));
  });

  it('returns the exit status when asked not to check', async () => {
    expect(await sandbox.commands.run('exit 4', { check: false })).toMatchObject({ exitCode: 4 });
  });

  it('runs in a directory, with variables', async () => {
    const result = await sandbox.commands.run('pwd; echo "$WHO"', { cwd: '/', envs: { WHO: 'me you' } });
    expect(result.stdout).toBe('/\nme you\n');
  });

  it('refuses a working directory that does not exist', async () => {
    const failure = sandbox.commands.run('true', { cwd: '/not/there' });
    await expect(failure).rejects.toSatisfy((error) => InvalidRequestError.is(error));
    await expect(failure).rejects.toThrow('/not/there');
  });

  it('gives characters that are split over pieces whole', async () => {
    const pieces: string[] = [];
    const line =
      "printf '\\xe2\\x82'; sleep 0.2; printf '\\xac\\xf0\\x9f'; sleep 0.2; printf '\\x98\\x80\\xff'";
    const result = await sandbox.commands.run(line, { onStdout: (text) => void pieces.push(text) });
    expect(result.stdout).toBe('€😀\ufffd');
    expect(pieces.join('')).toBe('€😀\ufffd');
  });

  it('feeds text, bytes and streams to stdin', async () => {
    expect((await sandbox.commands.run('cat', { stdin: 'text' })).stdout).toBe('text');
    expect((await sandbox.commands.run('cat', { stdin: '' })).stdout).toBe('');
    expect(
      (await sandbox.commands.run('xxd -p', { stdin: new Uint8Array([0, 255]), check: false })).stdout,
    ).toMatch(/00ff|^$/);
    const stream = new ReadableStream<string>({
      start(controller) {
        for (const part of ['a', 'b', 'c']) controller.enqueue(part);
        controller.close();
      },
    });
    expect((await sandbox.commands.run('cat', { stdin: stream })).stdout).toBe('abc');
  });

  it('ends well when the program does not read all of its stdin', async () => {
    const result = await sandbox.commands.run('head -c 3', { stdin: 'x'.repeat(3_000_000) });
    expect(result.stdout).toBe('xxx');
  });

  it('takes the end of a program that has read enough for a normal end of its stdin', async () => {
    const head = await sandbox.commands.start('head -n 1', { stdin: true });
    const lines = new ReadableStream<string>({
      start(controller) {
        for (let line = 0; line < 2_000; line++) controller.enqueue(`line ${line} ${'x'.repeat(1_000)}\n`);
        controller.close();
      },
    });
    await lines.pipeTo(head.stdin);
    expect((await head.wait()).stdout).toMatch(/^line 0 x+\n$/);
    const reader = await sandbox.commands.start('read line; echo "got $line"', { stdin: true });
    const writer = reader.stdin.getWriter();
    await writer.write('last\n');
    expect((await reader.wait()).stdout).toBe('got last\n');
    await writer.write('to nobody\n');
    await writer.close();
    await reader.closeStdin();
  });

  it('stops a source without end when the program has read enough', async () => {
    let returned = false;
    function* endless() {
      try {
        for (;;) yield 'more\n';
      } finally {
        returned = true;
      }
    }
    expect((await sandbox.commands.run('head -n 1', { stdin: endless() })).stdout).toBe('more\n');
    await eventually('the source to be stopped', () => returned);
  });

  it('fails writes to a program that is not followed any more', async () => {
    const cat = await sandbox.commands.start('cat', { stdin: true });
    const writer = cat.stdin.getWriter();
    await writer.write('x');
    cat.disconnect();
    await expect(cat.wait()).rejects.toMatchObject({ code: 'disconnected' });
    await expect(writer.write('y')).rejects.toMatchObject({ code: 'disconnected' });
    await sandbox.commands.kill(cat.pid);
  });

  it('keeps the last keepOutputBytes of the output, however large its pieces are', async () => {
    const line = 'head -c 100000 /dev/zero | tr "\\0" x; echo end';
    const result = await sandbox.commands.run(line, { keepOutputBytes: 1000 });
    expect(result).toMatchObject({ truncated: true, stdout: `${'x'.repeat(996)}end\n` });
    const wide = await sandbox.commands.run("printf '%0.s€' $(seq 500)", { keepOutputBytes: 1000 });
    expect(wide.stdout).toBe('€'.repeat(333));
  });

  it('can continue over the connection whose input the program did not read', async () => {
    for (let round = 0; round < 3; round++) {
      await sandbox.commands.run('head -c 3', { stdin: 'x'.repeat(3_000_000) });
      // As many calls as there may be connections waiting to be used again.
      await Promise.all(Array.from({ length: 4 }, () => sandbox.commands.list({ requestTimeoutMs: 20_000 })));
    }
  });

  it('kills a command that runs longer than its time limit and says which option moves it', async () => {
    const failure = sandbox.commands.run('echo early; sleep 600', { timeoutMs: 2_500 });
    await expect(failure).rejects.toSatisfy((error) => CommandTimeoutError.is(error));
    await expect(failure).rejects.toMatchObject({ option: 'timeoutMs', limitMs: 2_500, stdout: 'early\n' });
    await eventually('the process to exit', async () => {
      const all = await sandbox.commands.list();
      return all.every(({ args }) => !args.some((arg) => arg.includes('echo early')));
    });
  });

  it('reports to a reader that the time limit fired, too', async () => {
    const command = await sandbox.commands.start('sleep 600', { timeoutMs: 2_500 });
    const iterate = async () => {
      for await (const _ of command);
    };
    await expect(iterate()).rejects.toBeInstanceOf(CommandTimeoutError);
    await expect(command.stdout.getReader().read()).rejects.toBeInstanceOf(CommandTimeoutError);
    await expect(command.wait()).rejects.toBeInstanceOf(CommandTimeoutError);
  });

  it("kills the command when the caller aborts, and rethrows the caller's reason", async () => {
    const controller = new AbortController();
    const line = 'echo aborted-run; sleep 601';
    const run = sandbox.commands.run(line, {
      signal: controller.signal,
      onStdout: () => controller.abort('not needed any more'),
    });
    await expect(run).rejects.toBe('not needed any more');
    await eventually('the process to exit', async () =>
      (await sandbox.commands.list()).every(({ args }) => !args.includes(line)),
    );
  });

  it('leaves the process alone when an abort shall not kill it', async () => {
    const controller = new AbortController();
    const command = await sandbox.commands.start('sleep 602', {
      signal: controller.signal,
      killOnAbort: false,
    });
    controller.abort('bye');
    await expect(command.wait()).rejects.toBe('bye');
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(command.pid);
    expect(await sandbox.commands.kill(command.pid)).toBe(true);
  });

  it('gives raw bytes and text when iterated over', async () => {
    const command = await sandbox.commands.start("printf '\\x00\\xff'; printf err >&2");
    const bytes: number[] = [];
    let errors = '';
    for await (const event of command) {
      if (event.type === 'stdout') bytes.push(...event.data);
      if (event.type === 'stderr') errors += event.text;
    }
    expect([bytes, errors]).toEqual([[0, 255], 'err']);
    expect((await command.wait()).exitCode).toBe(0);
  });

  it('gives the output as streams', async () => {
    const command = await sandbox.commands.start('echo one; echo two >&2');
    const [stdout, stderr] = await Promise.all([
      new Response(command.stdout).text(),
      new Response(command.stderr).text(),
    ]);
    expect([stdout, stderr]).toEqual(['one\n', 'two\n']);
  });

  it('settles wait() although a reader stopped reading without leaving', async () => {
    const command = await sandbox.commands.start('head -c 3000000 /dev/zero');
    await command.stdout.getReader().read();
    const iterator = command[Symbol.asyncIterator]();
    await iterator.next();
    expect((await command.wait()).exitCode).toBe(0);
  });

  it('slows a program down whose reader is slow, and loses nothing', async () => {
    const command = await sandbox.commands.start('head -c 4000000 /dev/zero; echo done >&2');
    let size = 0;
    for await (const chunk of command.stdout) {
      size += chunk.byteLength;
      if (size < 1_000_000) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(size).toBe(4_000_000);
    const result = await command.wait();
    expect(result).toMatchObject({ exitCode: 0, stderr: 'done\n', truncated: true });
  });

  it('writes to stdin in order and closes it', async () => {
    const command = await sandbox.commands.start('cat', { stdin: true });
    const writer = command.stdin.getWriter();
    for (let index = 0; index < 50; index++) await writer.write(`line ${index}\n`);
    await writer.close();
    const { stdout } = await command.wait();
    expect(stdout).toBe(Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join(''));
  });

  it('lets a conversation go back and forth', async () => {
    const command = await sandbox.commands.start('while read line; do echo "got $line"; done', {
      stdin: true,
    });
    const writer = command.stdin.getWriter();
    const reader = command.stdout.pipeThrough(new TextDecoderStream()).getReader();
    for (const word of ['a', 'b', 'c']) {
      await writer.write(`${word}\n`);
      expect((await reader.read()).value).toBe(`got ${word}\n`);
    }
    await command.closeStdin();
    expect((await command.wait()).exitCode).toBe(0);
  });

  it('refuses stdin of a command that was started without it', async () => {
    const command = await sandbox.commands.start('true');
    expect(() => command.stdin).toThrow('stdin: true');
    await command.wait();
  });

  it('connects to a command by pid and by tag', async () => {
    const started = await sandbox.commands.start('read line; echo "$line"; read line; exit 7', {
      stdin: true,
      tag: 'job-1',
    });
    const byPid = await sandbox.commands.connect(started.pid);
    const byTag = await sandbox.commands.connect({ tag: 'job-1' });
    expect(byTag.pid).toBe(started.pid);
    const writer = byPid.stdin.getWriter();
    await writer.write('hello\nbye\n');
    for (const command of [started, byPid, byTag]) {
      expect(await command.wait({ check: false })).toMatchObject({ exitCode: 7, stdout: 'hello\n' });
    }
    await expect(sandbox.commands.connect(4_000_000)).rejects.toSatisfy((error) =>
      ProcessNotFoundError.is(error),
    );
  });

  it('gives a caller who connects the earlier output of a command, unless asked for new output only', async () => {
    const started = await sandbox.commands.start('echo early; read x; echo late', { stdin: true });
    const reading = started[Symbol.asyncIterator]();
    await reading.next();
    const [all, fresh] = await Promise.all([
      sandbox.commands.connect(started.pid),
      sandbox.commands.connect(started.pid, { output: 'new' }),
    ]);
    await started.stdin.getWriter().write('\n');
    expect(await all.wait()).toEqual({ exitCode: 0, stdout: 'early\nlate\n', stderr: '' });
    expect(await fresh.wait()).toEqual({ exitCode: 0, stdout: 'late\n', stderr: '' });
    const after = await sandbox.commands.connect(started.pid);
    expect(await after.wait()).toEqual({ exitCode: 0, stdout: 'early\nlate\n', stderr: '' });
  });

  it('reports to a caller who connects how much of the output is not kept any more', async () => {
    const command = await sandbox.commands.start('head -c 3000000 /dev/zero');
    expect((await command.wait()).truncated).toBe(true);
    const late = await sandbox.commands.connect(command.pid, { keepOutputBytes: 10_000_000 });
    const { stdout, lostBytes = 0 } = await late.wait();
    expect(lostBytes).toBeGreaterThan(1_000_000);
    expect(stdout.length + lostBytes).toBe(3_000_000);
    expect(late.lostBytes).toBe(lostBytes);
  });

  it('lists running processes with what they were started with', async () => {
    const command = await sandbox.commands.start('sleep 603', { tag: 'listed', envs: { A: 'b' }, cwd: '/' });
    const found = (await sandbox.commands.list()).find(({ pid }) => pid === command.pid);
    expect(found).toEqual({
      pid: command.pid,
      tag: 'listed',
      command: '/bin/bash',
      args: ['-l', '-c', 'sleep 603'],
      envs: { A: 'b' },
      cwd: '/',
      startedAt: expect.any(Date),
    });
    expect(Math.abs((found?.startedAt?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    await command.kill();
    await expect(command.wait()).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' });
  });

  it('answers false when there is nothing to kill', async () => {
    expect(await sandbox.commands.kill(4_000_000)).toBe(false);
    expect(await sandbox.commands.kill({ tag: 'never' })).toBe(false);
  });

  it('sends SIGTERM', async () => {
    const command = await sandbox.commands.start(
      "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.1; done",
    );
    const reader = command[Symbol.asyncIterator]();
    await reader.next();
    expect(await command.signal('SIGTERM')).toBe(true);
    // The daemon stops reading the output of a process that it signals, so the exit status is what can be relied on.
    expect(await command.wait({ check: false })).toMatchObject({ exitCode: 9 });
  });

  it('leaves the process alone on disconnect', async () => {
    const command = await sandbox.commands.start('sleep 604');
    command.disconnect();
    await expect(command.wait()).rejects.toMatchObject({ code: 'disconnected' });
    const again = await sandbox.commands.connect(command.pid);
    await again.kill();
    expect(await again.wait({ check: false })).toMatchObject({ exitCode: -1 });
  });

  it('surfaces what a callback throws', async () => {
    const fault = new Error('mine');
    const run = sandbox.commands.run('echo x; sleep 605', {
      onStdout: () => {
        throw fault;
      },
    });
    await expect(run).rejects.toBe(fault);
  });

  it('quotes every value of a template', async () => {
    const evil = `a'b "c" $(touch /tmp/never) \`x\` ; rm -rf * \n\\`;
    expect((await sandbox.$`printf %s ${evil}`).stdout).toBe(evil);
    expect((await sandbox.$`printf '%s|' ${['a b', 'c']} ${1} ${''}`).stdout).toBe('a b|c|1||');
    expect((await sandbox.$({ cwd: '/' })`pwd`).stdout).toBe('/\n');
  });

  it('kills a command at the end of its block', async () => {
    let pid = 0;
    {
      await using command = await sandbox.commands.start('sleep 606');
      pid = command.pid;
    }
    await eventually('the process to exit', async () =>
      (await sandbox.commands.list()).every((process) => process.pid !== pid),
    );
  });

  it('ends open streams when the client closes', async () => {
    const client = fixture.client();
    const handle = await client.sandboxes.get(sandbox.id);
    const command = await handle.commands.start('sleep 607');
    client.close();
    await expect(command.wait()).rejects.toMatchObject({ code: 'disconnected' });
    expect(await sandbox.commands.kill(command.pid)).toBe(true);
  });
});

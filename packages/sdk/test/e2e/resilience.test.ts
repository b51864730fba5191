import { eventually } from '@svc/support/eventually';
import { chaosProxy } from '@svc/support/testing/chaos-proxy';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConnectionError, OutputLostError, type Sandbox, TimeoutError } from '../../src/index.js';

describeOnServer('resilience', (fixture) => {
  let proxy: Awaited<ReturnType<typeof chaosProxy>>;
  let sandbox: Sandbox;
  beforeAll(async () => {
    proxy = await chaosProxy(fixture.server.sandboxUrl);
    sandbox = await fixture.client({ sandboxUrl: proxy.url }).sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(async () => {
    await sandbox?.kill();
    await proxy?.close();
  });

  it('attaches again when the stream of a command breaks, and says so', async () => {
    const command = await sandbox.commands.start('echo before; read line; echo "after $line"; exit 3', {
      stdin: true,
    });
    const events: string[] = [];
    const reading = (async () => {
      for await (const event of command) events.push(event.type === 'reattached' ? event.type : event.text);
    })();
    await eventually('the first line', () => events.includes('before\n'));
    expect(proxy.cut('/process.Process/Start')).toBe(1);
    await eventually('the command to be attached to again', () => events.includes('reattached'));
    const writer = command.stdin.getWriter();
    await writer.write('all\n');
    await reading;
    expect(events).toEqual(['before\n', 'reattached', 'after all\n']);
    expect(await command.wait({ check: false })).toMatchObject({
      exitCode: 3,
      reattached: 1,
      stdout: 'before\nafter all\n',
    });
    expect(command.reattached).toBe(1);
    expect(command.lostBytes).toBe(0);
  });

  it('gives runs whole whose output and end came while the service was away', async () => {
    const line = (index: number) =>
      `echo start-${index}; echo ready >&2; read go; sleep 0.1; echo end-${index}`;
    const commands = await Promise.all(
      Array.from({ length: 7 }, (_, index) =>
        sandbox.commands.start(line(index), { stdin: true, keepOutputBytes: 1_000_000 }),
      ),
    );
    const direct = await fixture.client().sandboxes.get(sandbox.id);
    const through = await Promise.all(commands.map(({ pid }) => direct.commands.connect(pid)));
    proxy.setDown(true);
    try {
      for (const command of through) await command.stdin.getWriter().write('go\n');
      // They end while nobody follows them through the proxy.
      for (const command of through) await command.wait();
    } finally {
      proxy.setDown(false);
    }
    for (const [index, command] of commands.entries()) {
      expect(await command.wait({ allowLostOutput: false })).toEqual({
        exitCode: 0,
        stdout: `start-${index}\nend-${index}\n`,
        stderr: 'ready\n',
        reattached: 1,
      });
    }
  });

  it('does not resolve a run as whole when output is lost while the connection is broken', async () => {
    const size = 5_000_000;
    const script = `echo begin; until [ -e go ]; do sleep 0.02; done; head -c ${size} /dev/zero`;
    let begun = false;
    const run = sandbox.commands.run(script, {
      onStdout: () => {
        begun = true;
      },
    });
    const lost = run.catch((error: unknown) => error);
    await eventually('the program to run', () => begun);
    const direct = await fixture.client().sandboxes.get(sandbox.id);
    const found = (await direct.commands.list()).find(({ args }) => args.includes(script));
    const running = found as NonNullable<typeof found>;
    proxy.setDown(true);
    try {
      await direct.commands.run('touch go');
      await (await direct.commands.connect(running.pid)).wait();
    } finally {
      proxy.setDown(false);
    }
    const error = await lost;
    if (!OutputLostError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'output_lost', exitCode: 0, stderr: '' });
    expect(error.stdout.startsWith('begin\n')).toBe(true);
    expect(error.lostBytes).toBeGreaterThan(1_000_000);
    expect(error.stdout.length + error.lostBytes).toBe(size + 'begin\n'.length);
    await direct.commands.run('rm go');
  });

  it('attaches again as often as it takes', async () => {
    const command = await sandbox.commands.start('read line; echo done', { stdin: true });
    for (let round = 1; round <= 3; round++) {
      const cut = () => proxy.cut(round === 1 ? '/process.Process/Start' : '/process.Process/Connect');
      await eventually('a stream to cut', () => cut() > 0);
      await eventually('another attachment', () => command.reattached >= round);
    }
    await command.stdin.getWriter().write('go\n');
    expect(await command.wait()).toMatchObject({ exitCode: 0, stdout: 'done\n' });
  });

  it('gives the exit status of a command that ended while the connection was broken', async () => {
    const command = await sandbox.commands.start('read line; exit 6', { stdin: true });
    const direct = await fixture.client().sandboxes.get(sandbox.id);
    const through = await direct.commands.connect(command.pid);
    proxy.setDown(true);
    try {
      await through.stdin.getWriter().write('go\n');
      expect(await through.wait({ check: false })).toMatchObject({ exitCode: 6 });
    } finally {
      proxy.setDown(false);
    }
    expect(await command.wait({ check: false })).toMatchObject({ exitCode: 6 });
  });

  it('does not start a command again whose first answer never came', async () => {
    const proxied = fixture.client({ sandboxUrl: proxy.url });
    const handle = await proxied.sandboxes.get(sandbox.id);
    await handle.commands.run('true');
    const before = (await sandbox.commands.list()).length;
    const nowhere = await fixture.client({ sandboxUrl: 'http://127.0.0.1:9' }).sandboxes.get(sandbox.id);
    await expect(nowhere.commands.run('sleep 608')).rejects.toSatisfy((error) => ConnectionError.is(error));
    expect((await sandbox.commands.list()).length).toBe(before);
  });

  it('limits the time until a command starts by requestTimeoutMs', async () => {
    const silent = await chaosProxy('http://192.0.2.1:9');
    try {
      const handle = await fixture.client({ sandboxUrl: silent.url }).sandboxes.get(sandbox.id);
      const failure = handle.commands.run('true', { requestTimeoutMs: 300 });
      await expect(failure).rejects.toSatisfy((error) => TimeoutError.is(error) || ConnectionError.is(error));
    } finally {
      await silent.close();
    }
  });
});

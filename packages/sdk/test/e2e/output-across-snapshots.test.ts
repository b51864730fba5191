import { eventually } from '@svc/support/eventually';
import { describeOnServer } from '@svc/support/testing/on-server';
import { expect, it } from 'vitest';
import { SvcError } from '../../src/index.js';

const line = 'echo before; until [ -e go ]; do sleep 0.02; done; echo after';

describeOnServer('output of programs in stored sandboxes', (fixture) => {
  // The process driver cannot store memory.
  const onLinux = it.skipIf(fixture.driver !== 'linux');

  onLinux(
    'is whole for a caller who connects after a pause, and the command that was followed says so',
    async () => {
      await using sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
      const command = await sandbox.commands.start(line);
      const reading = command[Symbol.asyncIterator]();
      expect((await reading.next()).value).toMatchObject({ text: 'before\n' });
      await sandbox.pause();
      await expect(command.wait()).rejects.toSatisfy((error) => SvcError.is(error));
      await sandbox.resume();
      const again = await sandbox.commands.connect(command.pid);
      await sandbox.commands.run('touch go');
      expect(await again.wait()).toEqual({ exitCode: 0, stdout: 'before\nafter\n', stderr: '' });
    },
  );

  onLinux('is whole in every fork, and in the source', async () => {
    await using sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    const command = await sandbox.commands.start(line);
    const reading = command[Symbol.asyncIterator]();
    await reading.next();
    const forks = await sandbox.fork({ count: 2, timeoutMs: 600_000 });
    for (const fork of forks) {
      if (!fork.ok) throw fork.error;
      await using copy = fork.sandbox;
      const copied = await copy.commands.connect(command.pid);
      await copy.commands.run('touch go');
      expect(await copied.wait()).toEqual({ exitCode: 0, stdout: 'before\nafter\n', stderr: '' });
    }
    await sandbox.commands.run('touch go');
    const { stdout, lostBytes } = await command.wait();
    expect([stdout, lostBytes]).toEqual(['before\nafter\n', undefined]);
  });

  onLinux('can still be opened by its names, in a resumed sandbox and in a fork', async () => {
    await using sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    const named = 'until [ -e go ]; do sleep 0.02; done; echo out >/dev/stdout; echo err >/dev/stderr';
    const command = await sandbox.commands.start(named);
    await sandbox.pause();
    await sandbox.resume();
    const [fork] = await sandbox.fork({ count: 1, timeoutMs: 600_000 });
    if (!fork?.ok) throw fork?.error;
    await using copy = fork.sandbox;
    for (const one of [sandbox, copy]) {
      const again = await one.commands.connect(command.pid);
      await one.commands.run('touch go');
      expect(await again.wait()).toMatchObject({ exitCode: 0, stdout: 'out\n', stderr: 'err\n' });
    }
  });

  onLinux('is whole when the sandbox is paused and wakes by itself while nobody reads', async () => {
    await using sandbox = await fixture.client().sandboxes.create({
      timeoutMs: 600_000,
      lifecycle: { onTimeout: 'pause', autoResume: true },
    });
    const command = await sandbox.commands.start(line);
    const reading = command[Symbol.asyncIterator]();
    await reading.next();
    await sandbox.pause();
    // The connection that the pause broke is made again, which wakes the sandbox.
    await eventually('the command to be attached to again', () => command.reattached > 0);
    await sandbox.commands.run('touch go');
    expect(await command.wait({ allowLostOutput: false })).toMatchObject({ stdout: 'before\nafter\n' });
  });
});

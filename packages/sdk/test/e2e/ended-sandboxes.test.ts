import { describeOnServer } from '@svc/support/testing/on-server';
import { expect, it } from 'vitest';
import type { Sandbox } from '../../src/index.js';

describeOnServer('a command whose sandbox goes away', (fixture) => {
  const endOf = async (end: (sandbox: Sandbox) => Promise<unknown>) => {
    const sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    try {
      const command = await sandbox.commands.start('sleep 600');
      const [failure] = await Promise.all([command.wait().catch((error: unknown) => error), end(sandbox)]);
      const later = await sandbox.commands.run('true').catch((error: unknown) => error);
      return { failure, later };
    } finally {
      await sandbox.kill();
    }
  };

  it('says that it was killed', async () => {
    const { failure, later } = await endOf((sandbox) => sandbox.kill());
    expect(failure).toMatchObject({ name: 'SandboxGoneError', reason: 'killed' });
    expect((failure as Error).message).toMatch(/was killed\.$/);
    expect(later).toMatchObject({ name: 'SandboxGoneError', reason: 'gone' });
  });

  it('says that it is paused, also to who comes later', async () => {
    const { failure, later } = await endOf((sandbox) => sandbox.pause());
    for (const error of [failure, later]) {
      expect(error).toMatchObject({ name: 'SandboxGoneError', reason: 'paused' });
      expect((error as Error).message).toMatch(/is paused: resume\(\)/);
    }
  });

  it('says that its time to live is over', async () => {
    const { failure } = await endOf((sandbox) => sandbox.setTimeout(0));
    expect(failure).toMatchObject({ name: 'SandboxGoneError', reason: 'expired', option: 'timeoutMs' });
    expect((failure as Error).message).toMatch(/end of its time to live/);
  });
});

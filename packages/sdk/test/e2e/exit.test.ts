import { describeOnServer } from '@svc/support/testing/on-server';
import { expect, it } from 'vitest';
import { runScript } from '../support/run-script.js';

describeOnServer('a program that uses the SDK', (fixture) => {
  // Keep-alive timers, idle sockets and open streams would hold it for seconds to minutes.
  const promptlyMs = 4_000;

  it('exits promptly after kill()', async () => {
    const { exitCode, stdout, lingeredMs } = await runScript(
      fixture,
      `const sandbox = await Sandbox.create();
const { stdout } = await sandbox.commands.run('cat', { stdin: 'through' });
const command = await sandbox.commands.start('sleep 609');
command.wait().catch(() => {});
await sandbox.kill();
console.log(stdout);`,
    );
    expect([exitCode, stdout]).toEqual([0, 'through\n']);
    expect(lingeredMs).toBeLessThan(promptlyMs);
  });

  it('is held open by nothing that it left unread: watches, commands, open stdins, terminals', async () => {
    const { exitCode, stdout, lingeredMs } = await runScript(
      fixture,
      `const sandbox = await Sandbox.create({ timeoutMs: 120_000 });
await sandbox.files.watch('.');
await sandbox.commands.start('sleep 610');
const cat = await sandbox.commands.start('cat', { stdin: true });
await cat.stdin.getWriter().write('x');
for await (const _ of await sandbox.commands.start('echo x; sleep 611')) break;
await sandbox.pty.create();
console.log('left');`,
    );
    expect([exitCode, stdout]).toEqual([0, 'left\n']);
    expect(lingeredMs).toBeLessThan(promptlyMs);
  });

  it('is held open by everything it waits for', async () => {
    const { exitCode, stdout } = await runScript(
      fixture,
      `const sandbox = await Sandbox.create({ timeoutMs: 120_000 });
const { commands, files } = sandbox;
console.log((await commands.run('sleep 0.5; echo ran', { requestTimeoutMs: 0 })).stdout.trim());
const started = await commands.start('sleep 0.5; echo waited', { requestTimeoutMs: 0 });
console.log((await started.wait()).stdout.trim());
for await (const event of await commands.start('sleep 0.5; echo read')) console.log(event.text.trim());
console.log((await new Response((await commands.start('sleep 0.5; echo streamed')).stdout).text()).trim());
const watch = await files.watch('.', { requestTimeoutMs: 0 });
await commands.start('sleep 0.5; touch seen');
for await (const { name } of watch) { console.log(name); break; }
await commands.start('sleep 0.5; echo called', { onStdout: (text) => console.log(text.trim()) });`,
    );
    expect([exitCode, stdout]).toEqual([0, 'ran\nwaited\nread\nstreamed\nseen\ncalled\n']);
  });
});

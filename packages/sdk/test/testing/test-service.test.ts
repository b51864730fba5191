import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import {
  CapacityError,
  CommandExitError,
  ConnectionError,
  OutputLostError,
  RateLimitError,
  SandboxGoneError,
} from '../../src/index.js';
import { createTestService, faults, json } from '../../src/testing.js';

it('runs scripted commands in a sandbox that is in memory', async () => {
  const { client, daemon } = createTestService();
  daemon
    .onCommand('echo hi', { stdout: ['h', 'i\n'] })
    .onCommand(/^fail/, (line) => ({ stderr: line, exitCode: 3 }));
  const sandbox = await client.sandboxes.create({ template: 'base' });
  const lines: string[] = [];
  const result = await sandbox.commands.run('echo hi', {
    envs: { A: 'b' },
    onStdout: (text) => void lines.push(text),
  });
  expect(result).toMatchObject({ exitCode: 0, stdout: 'hi\n' });
  expect(lines.join('')).toBe('hi\n');
  expect(daemon.commands[0]).toMatchObject({ line: 'echo hi', envs: { A: 'b' } });
  await expect(sandbox.commands.run('fail now')).rejects.toThrow(CommandExitError);
  expect((await sandbox.commands.run('unheard of', { check: false })).exitCode).toBe(127);
  expect(await sandbox.isRunning()).toBe(true);
  expect(await sandbox.kill()).toBe(true);
  expect(await sandbox.kill()).toBe(false);
  expect(await sandbox.isRunning()).toBe(false);
});

it('sees a stream that is cut and attaches again', async () => {
  const { client, daemon } = createTestService();
  daemon.onCommand('long', { stdout: 'before', cut: true });
  const sandbox = await client.sandboxes.create();
  const command = await sandbox.commands.start('long');
  expect(await command.wait()).toMatchObject({ exitCode: 0, stdout: 'before' });
  expect(command.reattached).toBe(1);
});

it('refuses a program with a list of arguments, and says how to write it', async () => {
  const { client } = createTestService();
  const { commands } = await client.sandboxes.create();
  const hint = /Quote values with quote\(\)/;
  await expect(commands.run('echo', ['x'] as never)).rejects.toThrow(hint);
  await expect(commands.run(['echo', 'x'] as never)).rejects.toThrow(/must be a string, got a list/);
  await expect(commands.start('echo', 'x' as never)).rejects.toThrow(hint);
  await expect(commands.start(undefined as never)).rejects.toThrow(/got undefined/);
});

it('prints what a failed command wrote once', async () => {
  const { client, daemon } = createTestService();
  daemon.onCommand('fail', { stdout: 'said-out', exitCode: 3 });
  const { commands } = await client.sandboxes.create();
  const error = await commands.run('fail').catch((thrown: unknown) => thrown);
  expect(inspect(error).split('said-out')).toHaveLength(2);
  expect(error).toMatchObject({ stdout: 'said-out', exitCode: 3, result: { stdout: 'said-out' } });
});

it('tells of output that was lost, in every way that a command is read', async () => {
  const { client, daemon } = createTestService();
  daemon.onCommand('long', { stdout: 'before', cut: true, lostBytes: 7 });
  const sandbox = await client.sandboxes.create();
  await expect(sandbox.commands.run('long')).rejects.toMatchObject({
    name: 'OutputLostError',
    code: 'output_lost',
    lostBytes: 7,
    exitCode: 0,
    stdout: 'before',
    message: expect.stringMatching(/^7 bytes of the output .* long\. .*exit status 0.*allowLostOutput/),
  });
  const whole = { exitCode: 0, stdout: 'before', stderr: '', reattached: 1, lostBytes: 7 };
  expect(await sandbox.commands.run('long', { allowLostOutput: true })).toEqual(whole);
  const command = await sandbox.commands.start('long');
  expect(await command.wait()).toEqual(whole);
  const events = [];
  for await (const { type, ...event } of command) events.push('lostBytes' in event ? event.lostBytes : type);
  expect(events).toEqual(['stdout', 7]);
  await expect(new Response(command.stdout).text()).rejects.toSatisfy((error) => OutputLostError.is(error));
  const lenient = await sandbox.commands.start('long', { allowLostOutput: true });
  expect(await new Response(lenient.stdout).text()).toBe('before');
});

it('is told to wait and waits, and gives up with the error of the table', async () => {
  const { client, platform } = createTestService({ maxRetries: 1 });
  platform.on('GET /v2/sandboxes', faults.rateLimited({ retryAfterSeconds: 0 }), json(200, []));
  expect((await client.sandboxes.list()).items).toEqual([]);
  expect(platform.requests.filter(({ path }) => path.startsWith('/v2/sandboxes'))).toHaveLength(2);
  platform.on('GET /v2/sandboxes', faults.rateLimited({ retryAfterSeconds: 3600 }));
  await expect(client.sandboxes.list()).rejects.toThrow(RateLimitError);
});

it.each(['sandbox_capacity_unavailable', 'sandbox_no_compatible_node'])(
  'fails with the error code %s',
  async (errorCode) => {
    const { client, platform } = createTestService();
    platform.on('POST /v2/sandboxes', faults.failed(503, { errorCode }));
    const failure = await client.sandboxes.create().catch((error: unknown) => error);
    expect(CapacityError.is(failure)).toBe(true);
    expect(failure).toMatchObject({ errorCode, status: 503 });
  },
);

it('breaks connections before, during and after an answer', async () => {
  const { client, platform } = createTestService({ maxRetries: 0 });
  const sandbox = await client.sandboxes.create();
  for (const fault of [faults.connectionRefused(), faults.connectionReset(), faults.cutAfter('par')]) {
    platform.on('GET /files', fault);
    await expect(sandbox.files.read('x')).rejects.toThrow(ConnectionError);
  }
  platform.on('GET /files', faults.cutAfter('partial'));
  const stream = await sandbox.files.read('x', { format: 'stream' });
  await expect(new Response(stream).text()).rejects.toThrow(ConnectionError);
  platform.on('GET /files', faults.sandboxGone(sandbox.id));
  await expect(sandbox.files.read('x')).rejects.toThrow(SandboxGoneError);
});

it('names a request that nothing is scripted for', async () => {
  const { client } = createTestService();
  await expect(client.team()).rejects.toThrow(/No reply is scripted for GET \/team/);
});

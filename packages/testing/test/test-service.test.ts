import { inspect } from 'node:util';
import {
  AuthenticationError,
  Client,
  CommandExitError,
  CommandTimeoutError,
  FileNotFoundError,
  NotFoundError,
  RateLimitError,
  SandboxGoneError,
  SandboxNotFoundError,
} from '@svc/sdk';
import { expect, it } from 'vitest';
import { json, TestService } from '../src/index.js';

it('runs scripted commands in a sandbox that is in memory', async () => {
  await using service = new TestService();
  service
    .onCommand('echo hi', { stdout: ['h', 'i\n'] })
    .onCommand(/^fail (\w+)/, ({ line, match }) => ({ stderr: `${match?.[1]}: ${line}`, exitCode: 3 }))
    .onCommand(({ cwd }) => cwd === '/tmp', { stdout: 'in tmp' });
  const client = new Client({ ...service.options, logLevel: 'off' });
  const sandbox = await client.sandboxes.create({ template: 'base' });
  const lines: string[] = [];
  const result = await sandbox.commands.run('echo hi', {
    envs: { A: 'b' },
    onStdout: (text) => void lines.push(text),
  });
  expect(result).toMatchObject({ exitCode: 0, stdout: 'hi\n' });
  expect(lines.join('')).toBe('hi\n');
  const seen = service.sandbox(sandbox.id).commands[0];
  expect(seen).toMatchObject({ line: 'echo hi', envs: { A: 'b' }, exitCode: 0 });
  const failed = sandbox.commands.run('fail now');
  await expect(failed).rejects.toThrow(CommandExitError);
  await expect(failed).rejects.toMatchObject({ exitCode: 3, stderr: 'now: fail now' });
  expect((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout).toBe('in tmp');
  expect(await sandbox.isRunning()).toBe(true);
  expect(await sandbox.kill()).toBe(true);
  expect(await sandbox.kill()).toBe(false);
  expect(await sandbox.isRunning()).toBe(false);
  await expect(sandbox.commands.run('echo hi')).rejects.toThrow(SandboxGoneError);
});

it('says of a command without a script how to write one', async () => {
  await using service = new TestService();
  service.onCommand('make', {});
  const sandbox = await service.client().sandboxes.create();
  const { exitCode, stderr } = await sandbox.commands.run('make test', { check: false });
  expect(exitCode).toBe(127);
  expect(stderr).toMatch(
    /no script fits the command "make test"\. Scripted are: "make"\. Add one: service\.onCommand/,
  );
});

it('runs a program that reads its input, works on files and takes its time', async () => {
  await using service = new TestService();
  service.onCommand('convert', async (program) => {
    let line = await program.readLine();
    program.stdout(`first: ${line}\n`);
    await program.sleep(5_000);
    line = await program.readAll();
    program.sandbox.files.write('out.txt', line);
    return line.length;
  });
  const sandbox = await service.client().sandboxes.create();
  const run = sandbox.commands.run('convert', { stdin: 'über\nrest', check: false });
  expect(await service.clock.runUntil(run)).toMatchObject({ exitCode: 4, stdout: 'first: über\n' });
  expect(await sandbox.files.read('out.txt')).toBe('rest');
  expect(service.sandbox(sandbox.id).commands[0]?.stdin).toBe('über\nrest');
});

it('shows what a script throws as a failure of its command', async () => {
  await using service = new TestService();
  service.onCommand('x', () => {
    throw new Error('my script is wrong');
  });
  const sandbox = await service.client().sandboxes.create();
  await expect(sandbox.commands.run('x')).rejects.toMatchObject({
    stderr: expect.stringContaining('the script of "x" threw: Error: my script is wrong'),
  });
});

it('kills a command at its time limit, by the clock of the test', async () => {
  await using service = new TestService();
  service.onCommand('sleep 100', { stdout: 'tired', afterMs: 100_000 });
  const sandbox = await service.client().sandboxes.create();
  const command = await sandbox.commands.start('sleep 100', { timeoutMs: 30_000 });
  const ended = command.wait().catch((error: unknown) => error);
  // The client sends the service the rest of the limit, which is a little less.
  await service.clock.advance(25_000);
  expect((await sandbox.commands.list()).map(({ pid }) => pid)).toEqual([command.pid]);
  await service.clock.advance(5_000);
  expect(CommandTimeoutError.is(await ended)).toBe(true);
  expect(await sandbox.commands.list()).toEqual([]);
});

it('ends sandboxes by the clock of the test, and notifies those who read from them', async () => {
  await using service = new TestService();
  service.onCommand('serve', { stdout: 'up\n', afterMs: 3_600_000 });
  const client = service.client();
  const sandbox = await client.sandboxes.create({ timeoutMs: 60_000 });
  const command = await sandbox.commands.start('serve');
  const failure = command.wait().catch((error: unknown) => error);
  await sandbox.setTimeout(120_000);
  await service.clock.advance(119_000);
  expect(await sandbox.isRunning()).toBe(true);
  await service.clock.advance(1_000);
  expect(await failure).toMatchObject({ name: 'SandboxGoneError', reason: 'expired' });
  expect((await client.sandboxes.list()).items).toEqual([]);
  await expect(client.sandboxes.get(sandbox.id)).rejects.toThrow(SandboxNotFoundError);
});

it('pauses and resumes: programs are frozen meanwhile and continue', async () => {
  await using service = new TestService();
  service.onCommand('count', { output: [{ stdout: 'one\n' }, { stdout: 'two\n', afterMs: 1_000 }] });
  const client = service.client();
  const sandbox = await client.sandboxes.create();
  await sandbox.files.write('kept.txt', 'kept');
  const { pid } = await sandbox.commands.start('count', { tag: 'count' });
  await sandbox.pause();
  await service.clock.advance(10_000);
  expect((await client.sandboxes.list()).items[0]).toMatchObject({ state: 'paused' });
  await expect(sandbox.files.read('kept.txt')).rejects.toThrow(SandboxGoneError);
  const again = await client.sandboxes.connect(sandbox.id, { timeoutMs: 60_000 });
  const command = await again.commands.connect(pid);
  expect((await command.wait()).stdout).toBe('one\ntwo\n');
  expect(await again.files.read('kept.txt')).toBe('kept');
});

it('writes, reads, lists, moves, removes and watches files', async () => {
  await using service = new TestService();
  const { files } = await service.client().sandboxes.create();
  const watch = await files.watch('.', { recursive: true });
  await files.write('a/b.txt', 'text', { metadata: { author: 'me' } });
  await files.writeMany([
    { path: 'a/c.bin', data: new Uint8Array([0, 255]) },
    { path: 'd', data: 'd' },
  ]);
  expect(await files.read('a/b.txt')).toBe('text');
  expect(await files.read('/home/user/a/c.bin', { format: 'bytes' })).toEqual(new Uint8Array([0, 255]));
  expect((await files.list('a')).map(({ name }) => name)).toEqual(['b.txt', 'c.bin']);
  expect((await files.list('.', { depth: 2 })).map(({ path }) => path)).toEqual([
    '/home/user/a',
    '/home/user/a/b.txt',
    '/home/user/a/c.bin',
    '/home/user/d',
  ]);
  expect(await files.stat('a/b.txt')).toMatchObject({ sizeBytes: 4, metadata: { author: 'me' } });
  await files.move('a/b.txt', 'z/moved.txt');
  expect(await files.exists('a/b.txt')).toBe(false);
  expect(await files.makeDir('a')).toBe(false);
  await files.remove('a');
  await expect(files.read('a/c.bin')).rejects.toThrow(FileNotFoundError);
  const names = [];
  for await (const { type, name } of watch) {
    names.push(`${type} ${name}`);
    if (type === 'remove' && name === 'a') break;
  }
  expect(names).toContain('rename a/b.txt');
  expect(names.slice(0, 3)).toEqual(['create a', 'create a/b.txt', 'write a/b.txt']);
});

it('takes signed addresses until they expire', async () => {
  await using service = new TestService();
  const sandbox = await service.client().sandboxes.create();
  await sandbox.files.write('report.txt', 'signed');
  const url = await sandbox.files.downloadUrl('report.txt', { expiresInMs: 60_000 });
  expect(await (await service.fetch(url)).text()).toBe('signed');
  const range = await service.fetch(url, { headers: { Range: 'bytes=1-3' } });
  expect([range.status, await range.text()]).toEqual([206, 'ign']);
  await service.clock.advance(62_000);
  expect((await service.fetch(url)).status).toBe(401);
});

it('lists by metadata and by pages, and forks with files', async () => {
  await using service = new TestService();
  const { sandboxes } = service.client();
  for (let index = 0; index < 5; index += 1) {
    await sandboxes.create({ metadata: { 'odd & even': String(index % 2), 'ü=': 'y' } });
    await service.clock.advance(1_000);
  }
  const even = await sandboxes.list({ metadata: { 'odd & even': '0', 'ü=': 'y' }, limit: 2 });
  expect(even.items).toHaveLength(2);
  const ids = [];
  for await (const { sandboxId } of sandboxes.list({ limit: 2 })) ids.push(sandboxId);
  expect(ids).toEqual(service.sandboxes.map(({ id }) => id).reverse());
  const source = await sandboxes.create();
  await source.files.write('state', 'shared');
  const [fork] = await source.fork();
  await source.files.write('state', 'changed');
  expect(fork && 'sandbox' in fork).toBeTruthy();
  expect(service.sandboxes.at(-1)?.files.read('state')).toBe('shared');
});

it('opens a terminal', async () => {
  await using service = new TestService();
  service.onCommand(/bash -i/, async (program) => {
    program.stdout('$ ');
    for (let line = await program.readLine(); line !== 'exit'; line = await program.readLine())
      program.stdout(`ran ${line} on ${program.terminal?.cols} columns\n$ `);
  });
  const sandbox = await service.client().sandboxes.create();
  let shown = '';
  const terminal = await sandbox.pty.create({
    cols: 40,
    rows: 10,
    onData: (data) => {
      shown += new TextDecoder().decode(data);
    },
  });
  await terminal.write('ls\n');
  await terminal.write('exit\n');
  expect(await terminal.wait()).toMatchObject({ exitCode: 0 });
  expect(shown).toBe('$ ran ls on 40 columns\n$ ');
});

it('reaches a server inside', async () => {
  await using service = new TestService();
  service.onPort(3000, async (request, { id }) => new Response(`${request.method} ${id}`));
  const sandbox = await service.client().sandboxes.create();
  expect(await (await sandbox.fetch(3000, '/', { method: 'POST' })).text()).toBe(`POST ${sandbox.id}`);
  expect((await sandbox.fetch(4000, '/')).status).toBe(502);
});

it('refuses the key of another service, and a template that is not there, and says what to do', async () => {
  await using service = new TestService();
  const stranger = new Client({ ...service.options, apiKey: 'svc_00', logLevel: 'off' });
  await expect(stranger.sandboxes.list()).rejects.toThrow(AuthenticationError);
  await expect(stranger.sandboxes.list()).rejects.toThrow(/service\.apiKey/);
  const { sandboxes } = service.client();
  await expect(sandboxes.create({ template: 'mine' })).rejects.toThrow(NotFoundError);
  await expect(sandboxes.create({ template: 'mine' })).rejects.toThrow(/service\.addTemplate/);
  service.addTemplate('mine', { files: { 'start.txt': 'here' } });
  expect(await (await sandboxes.create({ template: 'mine' })).files.read('start.txt')).toBe('here');
});

it('keeps to the limits that it is given', async () => {
  await using service = new TestService({ limits: { maxConcurrentSandboxes: 1 } });
  const { sandboxes } = service.client({ maxRetries: 0 });
  const first = await sandboxes.create();
  await expect(sandboxes.create()).rejects.toThrow(RateLimitError);
  await first.kill();
  await sandboxes.create();
});

it('answers by itself what the test says, and names an operation that it does not play', async () => {
  await using service = new TestService();
  const client = service.client({ maxRetries: 0 });
  await expect(client.sandboxes.metrics(['i1'])).rejects.toThrow(
    /does not play the operation .*service\.on\('GET \//,
  );
  service.on('GET /sandboxes/{id}', json(500, { code: 500, message: 'broken' }));
  await expect(client.sandboxes.get('i1')).rejects.toThrow(/broken/);
  expect(service.requests.at(-1)).toMatchObject({
    method: 'GET',
    path: '/sandboxes/i1',
    operation: 'getSandbox',
  });
});

it('ends what is open, and refuses every later request, once it is closed', async () => {
  const service = new TestService();
  service.onCommand('wait', { afterMs: 1_000_000 });
  const client = service.client();
  const sandbox = await client.sandboxes.create();
  const command = await sandbox.commands.start('wait');
  const ended = command.wait().catch((error: unknown) => error);
  service.close();
  expect(await ended).toBeInstanceOf(Error);
  await expect(client.sandboxes.list()).rejects.toThrow(/test service was closed/);
});

it('shows no token where it is printed', async () => {
  await using service = new TestService();
  const sandbox = await service.client().sandboxes.create();
  expect(inspect(sandbox, { depth: 9, showHidden: true })).not.toContain('ea_test');
});

it('runs a program no longer than its sandbox lives, and ends a sandbox only when nothing else happens', async () => {
  await using service = new TestService();
  service.onCommand('make', { stdout: 'made', afterMs: 20_000 });
  const { sandboxes } = service.client();
  const brief = await sandboxes.create({ timeoutMs: 10_000 });
  await expect(service.clock.runUntil(brief.commands.run('make'))).rejects.toMatchObject({
    reason: 'expired',
  });
  const long = await sandboxes.create({ timeoutMs: 30_000 });
  expect((await service.clock.runUntil(long.commands.run('make'))).stdout).toBe('made');
  expect(long.id && service.sandbox(long.id).state).toBe('running');
  const never = new Promise<never>(() => {});
  await expect(service.clock.runUntil(never, { idleMs: 10 })).rejects.toThrow(
    /nothing was due on the clock for 10 ms/,
  );
});

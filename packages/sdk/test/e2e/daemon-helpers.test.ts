import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { diagnosticsChannels, type EndEvent, type RetryEvent, type Sandbox } from '../../src/index.js';

describeOnServer('reports and calls of a sandbox beside programs and files', (fixture) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000, envs: { GREETING: 'hello' } });
  });
  afterAll(async () => {
    await sandbox?.kill();
  });

  // The process driver limits nothing: its sandboxes may use the machine.
  it.skipIf(fixture.driver === 'process')(
    'reports its use of its limits, not that of the machine',
    async () => {
      const { cpuCount, memoryMiB, diskMiB } = await sandbox.info();
      const usage = await sandbox.usage();
      expect(usage).toMatchObject({
        cpuCount,
        memoryTotalBytes: memoryMiB * 1_048_576,
        diskTotalBytes: diskMiB * 1_048_576,
      });
      expect(usage.memoryUsedBytes).toBeGreaterThan(0);
      expect(usage.memoryUsedBytes).toBeLessThanOrEqual(usage.memoryTotalBytes);
      expect(Math.abs(usage.timestamp.getTime() - Date.now())).toBeLessThan(60_000);
    },
  );

  it('returns the variables of its programs', async () => {
    expect(await sandbox.envs()).toMatchObject({ GREETING: 'hello', SVC_SANDBOX_ID: sandbox.id });
  });

  it('joins files that were uploaded in pieces', async () => {
    await sandbox.files.writeMany([
      { path: 'part-1', data: 'one ' },
      { path: 'part-2', data: 'two' },
    ]);
    const joined = await sandbox.files.compose(['part-1', 'part-2'], 'whole');
    expect(joined).toMatchObject({ name: 'whole' });
    expect(await sandbox.files.read('whole')).toBe('one two');
    expect(await sandbox.files.exists('part-1')).toBe(false);
    await expect(sandbox.files.compose(['missing'], 'x')).rejects.toMatchObject({
      name: 'FileNotFoundError',
    });
    await expect(sandbox.files.compose([], 'x')).rejects.toMatchObject({ name: 'InvalidRequestError' });
  });

  it('waits for a port until something listens on it', async () => {
    // One that was free a moment ago: it is asked for where the program will listen.
    const free = `require("net").createServer().listen(0, function () { console.log(this.address().port); this.close(); })`;
    const port = Number((await sandbox.commands.run(`node -e '${free}'`)).stdout);
    const short = sandbox.waitForPort(port, { timeoutMs: 300 });
    await expect(short).rejects.toMatchObject({ name: 'TimeoutError', option: 'timeoutMs', limitMs: 300 });
    const serve = `require("net").createServer((socket) => socket.on("error", () => {}).end("x")).listen(${port})`;
    const waiting = sandbox.waitForPort(port);
    const command = await sandbox.commands.start(`node -e '${serve}'`);
    await Promise.race([waiting, command.wait()]);
    await waiting;
    await command.kill();
    const controller = new AbortController();
    const aborted = sandbox.waitForPort(1, { signal: controller.signal });
    controller.abort('enough');
    await expect(aborted).rejects.toBe('enough');
  });

  it('reports diagnostics of programs that are started and of watches, and tries again what never left', async () => {
    const ends: EndEvent[] = [];
    const retries: RetryEvent[] = [];
    const failures: EndEvent[] = [];
    const onEnd = (event: unknown) => void ends.push(event as EndEvent);
    const onRetry = (event: unknown) => void retries.push(event as RetryEvent);
    const onError = (event: unknown) => void failures.push(event as EndEvent);
    subscribe(diagnosticsChannels.end, onEnd);
    subscribe(diagnosticsChannels.retry, onRetry);
    subscribe(diagnosticsChannels.error, onError);
    try {
      await sandbox.commands.run('true');
      const pty = await sandbox.pty.create();
      await pty.kill();
      await (await sandbox.files.watch('.')).close();
      await expect(sandbox.files.watch('nowhere')).rejects.toMatchObject({ name: 'FileNotFoundError' });
      const refused = await fixture.client({ sandboxUrl: 'http://127.0.0.1:9' }).sandboxes.get(sandbox.id);
      await expect(refused.commands.start('true')).rejects.toMatchObject({ name: 'ConnectionError' });
    } finally {
      unsubscribe(diagnosticsChannels.end, onEnd);
      unsubscribe(diagnosticsChannels.retry, onRetry);
      unsubscribe(diagnosticsChannels.error, onError);
    }
    const names = ends.map(({ operation }) => operation);
    expect(names).toEqual(
      expect.arrayContaining(['commands.run', 'pty.create', 'commands.kill', 'files.watch']),
    );
    expect(retries.map(({ operation }) => operation)).toEqual(['commands.start', 'commands.start']);
    expect(failures.map(({ operation, attempts }) => [operation, attempts])).toEqual([
      ['files.watch', 1],
      ['commands.start', 3],
    ]);
  });

  it('writes debug lines about commands, terminals and watches, and no token into them', async () => {
    const lines: string[] = [];
    const write = (line: string, fields?: object) => void lines.push(`${line} ${JSON.stringify(fields)}`);
    const logger = { debug: write, info: write, warn: write, error: write };
    const handle = await fixture.client({ logger, logLevel: 'debug' }).sandboxes.get(sandbox.id);
    await handle.commands.run('true');
    await (await handle.pty.create()).kill();
    await (await handle.files.watch('.')).close();
    for (const operation of ['commands.run', 'pty.create', 'commands.kill', 'files.watch'])
      expect(lines.join('\n')).toContain(` ${operation}: `);
    expect(lines.join('\n')).not.toContain(handle.accessToken);
  });

  it('shows middleware the requests of commands and terminals', async () => {
    const seen: string[] = [];
    const client = fixture.client({
      middleware: [
        (request, next, { operation }) => {
          seen.push(operation);
          return next(request);
        },
      ],
    });
    const handle = await client.sandboxes.get(sandbox.id);
    expect((await handle.commands.run('cat', { stdin: 'through fetch' })).stdout).toBe('through fetch');
    expect(seen).toEqual(
      expect.arrayContaining(['sandboxes.get', 'process.Process/Start', 'process.Process/StreamInput']),
    );
  });
});

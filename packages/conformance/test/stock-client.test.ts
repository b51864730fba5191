import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Server, startServer } from '@svc/server';
import {
  AuthenticationError,
  CommandExitError,
  FileNotFoundError,
  Sandbox,
  SandboxNotFoundError,
  TimeoutError,
} from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embeddedOptions } from '../src/embedded-options.js';
import { linuxLacks } from '../src/linux-host.js';

const lacks = await linuxLacks();
if (lacks !== undefined) console.warn(`stock client on linux: skipped. ${lacks}`);

/** A promise and what settles it. */
function deferred(what: string, limitMs = 20_000) {
  let resolve!: () => void;
  const promise = new Promise<void>((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`waited ${limitMs} ms for ${what}`)), limitMs);
    resolve = () => {
      clearTimeout(timer);
      done();
    };
  });
  return { promise, resolve };
}

// docs/existing-clients.md says what is done here: the server knows the prefix of that client's routing headers, the
// client the server's addresses and a key. Nothing of the client is changed.
describe.each([
  ['process', undefined],
  ['linux', lacks],
] as const)('the stock client of another vendor, on the %s driver', (driver, reason) => {
  describe.skipIf(reason !== undefined)('with one setting of the server', () => {
    let dataDir: string;
    let server: Server;
    let connection: { apiUrl: string; sandboxUrl: string; apiKey: string; domain: string };
    let sandbox: Sandbox;

    beforeAll(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'svc-stock-client-'));
      server = await startServer({ ...embeddedOptions(dataDir, driver), headerPrefixes: ['E2b-'] });
      const { apiUrl, sandboxUrl, apiKey, domain } = server;
      connection = { apiUrl, sandboxUrl, apiKey, domain };
      sandbox = await Sandbox.create({
        ...connection,
        metadata: { purpose: 'stock & client' },
        envs: { GREETING: 'hello' },
        timeoutMs: 120_000,
      });
    });
    afterAll(async () => {
      await server?.stop({ destroySandboxes: true });
      if (dataDir) await rm(dataDir, { recursive: true, force: true });
    });

    it('creates a sandbox and describes it', async () => {
      expect(await sandbox.isRunning()).toBe(true);
      const info = await sandbox.getInfo();
      expect(info).toMatchObject({
        sandboxId: sandbox.sandboxId,
        state: 'running',
        metadata: { purpose: 'stock & client' },
      });
      expect(info.endAt.getTime() - info.startedAt.getTime()).toBe(120_000);
      await sandbox.setTimeout(300_000);
      expect((await sandbox.getInfo()).endAt.getTime()).toBeGreaterThan(info.endAt.getTime());
      expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.${server.domain}`);
    });

    it('runs commands, with both outputs, variables, exit codes and time limits', async () => {
      const chunks: string[] = [];
      const result = await sandbox.commands.run('echo "$GREETING $MORE"; echo problem >&2', {
        envs: { MORE: 'there' },
        onStdout: (text) => void chunks.push(text),
      });
      expect(result).toMatchObject({ exitCode: 0, stdout: 'hello there\n', stderr: 'problem\n' });
      expect(chunks.join('')).toBe('hello there\n');
      const failed = await sandbox.commands.run('exit 3').catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(CommandExitError);
      expect(failed).toMatchObject({ exitCode: 3 });
      await expect(sandbox.commands.run('sleep 60', { timeoutMs: 500 })).rejects.toBeInstanceOf(TimeoutError);
    });

    it('talks to a program in the background, finds it in the list, and kills another', async () => {
      const cat = await sandbox.commands.run('cat', { background: true, stdin: true });
      await sandbox.commands.sendStdin(cat.pid, 'typed\n');
      expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(cat.pid);
      await sandbox.commands.closeStdin(cat.pid);
      expect(await cat.wait()).toMatchObject({ exitCode: 0, stdout: 'typed\n' });
      const sleeper = await sandbox.commands.run('sleep 600', { background: true });
      const again = await sandbox.commands.connect(sleeper.pid);
      expect(await sandbox.commands.kill(sleeper.pid)).toBe(true);
      await expect(again.wait()).rejects.toBeInstanceOf(CommandExitError);
      expect(await sandbox.commands.kill(sleeper.pid)).toBe(false);
    });

    it('moves files in every form it has', async () => {
      const bytes = new Uint8Array(1_000_000).map((_, index) => index % 251);
      await sandbox.files.write('tree/text.txt', 'text');
      await sandbox.files.write('tree/bytes', bytes.buffer);
      await sandbox.files.write([
        { path: 'tree/one', data: '1' },
        { path: 'tree/two', data: new Blob(['2']) },
      ]);
      expect(await sandbox.files.read('tree/text.txt')).toBe('text');
      expect(Buffer.compare(await sandbox.files.read('tree/bytes', { format: 'bytes' }), bytes)).toBe(0);
      let streamed = 0;
      for await (const chunk of (await sandbox.files.read('tree/bytes', {
        format: 'stream',
      })) as unknown as AsyncIterable<Uint8Array>)
        streamed += chunk.length;
      expect(streamed).toBe(bytes.length);
      expect((await sandbox.files.list('tree')).map(({ name }) => name)).toEqual([
        'bytes',
        'one',
        'text.txt',
        'two',
      ]);
      expect(await sandbox.files.getInfo('tree/bytes')).toMatchObject({ name: 'bytes', size: 1_000_000 });
      await sandbox.files.rename('tree/one', 'tree/three');
      expect(await sandbox.files.exists('tree/one')).toBe(false);
      expect(await sandbox.files.makeDir('tree/directory')).toBe(true);
      expect(await sandbox.files.makeDir('tree/directory')).toBe(false);
      await sandbox.files.remove('tree/three');
      await expect(sandbox.files.read('tree/three')).rejects.toBeInstanceOf(FileNotFoundError);
    });

    it('watches a directory', async () => {
      await sandbox.files.makeDir('watched');
      const seen = deferred('the event of the new file');
      const handle = await sandbox.files.watchDir('watched', (event) => {
        if (event.name === 'file') seen.resolve();
      });
      await sandbox.files.write('watched/file', '1');
      await seen.promise;
      await handle.stop();
    });

    it('has a terminal', async () => {
      const shown = deferred('the answer of the shell');
      const decoder = new TextDecoder();
      let output = '';
      const terminal = await sandbox.pty.create({
        cols: 80,
        rows: 24,
        onData: (data) => {
          output += decoder.decode(data, { stream: true });
          if (output.includes('columns=100')) shown.resolve();
        },
      });
      await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 });
      await sandbox.pty.sendInput(
        terminal.pid,
        new TextEncoder().encode('echo columns=$(stty size | cut -d" " -f2)\n'),
      );
      await shown.promise;
      expect(await sandbox.pty.kill(terminal.pid)).toBe(true);
    });

    it('finds it in lists, pauses it, and continues by connecting', async () => {
      const list = (state: 'running' | 'paused') =>
        Sandbox.list({ ...connection, query: { metadata: { purpose: 'stock & client' }, state: [state] } });
      expect((await list('running').nextItems()).map((item) => item.sandboxId)).toEqual([sandbox.sandboxId]);
      const sleeper = await sandbox.commands.run('sleep 600', { background: true });
      await sandbox.files.write('kept', 'through the pause');
      expect(await sandbox.pause()).toBe(true);
      expect(await sandbox.isRunning()).toBe(false);
      expect((await list('paused').nextItems()).map((item) => item.sandboxId)).toEqual([sandbox.sandboxId]);
      const connected = await Sandbox.connect(sandbox.sandboxId, connection);
      expect(await connected.files.read('kept')).toBe('through the pause');
      expect((await connected.commands.list()).map(({ pid }) => pid)).toContain(sleeper.pid);
      expect((await connected.commands.run('echo again')).stdout).toBe('again\n');
      await connected.commands.kill(sleeper.pid);
    });

    it('gets its own errors for a wrong key and a sandbox that is deleted', async () => {
      const wrong = { ...connection, apiKey: `e2b_${'0'.repeat(40)}` };
      await expect(Sandbox.create(wrong)).rejects.toBeInstanceOf(AuthenticationError);
      const other = await Sandbox.create({ ...connection, timeoutMs: 60_000 });
      expect(await other.kill()).toBe(true);
      expect(await Sandbox.kill(other.sandboxId, connection)).toBe(false);
      await expect(Sandbox.connect(other.sandboxId, connection)).rejects.toBeInstanceOf(SandboxNotFoundError);
      await expect(other.commands.run('true')).rejects.toThrow();
    });
  });
});

it('is refused as a request without a target where the server does not know its headers', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-stock-client-'));
  const server = await startServer(embeddedOptions(dataDir, 'process'));
  try {
    const { apiUrl, sandboxUrl, apiKey } = server;
    const sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    await expect(sandbox.files.read('.bashrc')).rejects.toThrow(/missing header/);
  } finally {
    await server.stop({ destroySandboxes: true });
    await rm(dataDir, { recursive: true, force: true });
  }
});

import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { type ProcessOptions, runCli, runProcess } from '../support/run-cli.js';

describe('svc sandbox', () => {
  let local: LocalServer;
  const svc = (args: string[], options: Parameters<typeof runCli>[1] = {}) =>
    runCli(args, { env: local.env, ...options });
  const svcProcess = (args: string[], options: ProcessOptions) =>
    runProcess(args, { env: local.env, ...options });
  const json = async (args: string[]) => {
    const run = await svc([...args, '--json']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(run.stdout);
  };
  const create = async (...args: string[]) =>
    (await svc(['sandbox', 'create', '-q', '-t', '10m', ...args])).stdout.trim();

  beforeAll(async () => {
    local = await startLocalServer();
  });
  afterAll(() => local?.[Symbol.asyncDispose]());

  it('creates one, lists it by its metadata, shows it and kills it', async () => {
    const id = await create('-m', 'job=42', '-m', 'owner=me');
    await create('-m', 'job=43');
    const list = await svc(['sandbox', 'list', '-m', 'job=42']);
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(/^SANDBOX\s+STATE\s+TEMPLATE.*\n\S+\s+running\s+base .*job=42 owner=me\n$/);
    expect(list.stdout).toContain(id);
    expect(await json(['sandbox', 'list', '-m', 'job=42'])).toMatchObject([
      { sandboxId: id, state: 'running', metadata: { job: '42', owner: 'me' } },
    ]);
    const info = await svc(['sandbox', 'info', id]);
    expect(info.stdout).toMatch(new RegExp(`^Sandbox +${id}\\nState +running`));
    expect(await svc(['sandbox', 'kill', id])).toEqual({ code: 0, stdout: `Killed ${id}\n`, stderr: '' });
    expect(await svc(['sandbox', 'kill', id])).toEqual({
      code: 1,
      stdout: `There is no sandbox ${id}\n`,
      stderr: '',
    });
  });

  it('finds the one of a name again, and makes it where there is none', async () => {
    const id = await create('--name', 'user 42');
    expect(await create('--name', 'user 42')).toBe(id);
    await svc(['sandbox', 'kill', id]);
    const next = await create('--name', 'user 42');
    expect(next).toMatch(/^i[a-z0-9]{20}$/);
    expect(next).not.toBe(id);
    const both = await svc(['sandbox', 'create', '--name', 'a', '--idempotency-key', 'b']);
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect(both.stderr).toContain('leave --idempotency-key out');
  });

  it('sets the time to live', async () => {
    const id = await create();
    const before = await json(['sandbox', 'info', id]);
    const after = await json(['sandbox', 'timeout', id, '1h']);
    expect(Date.parse(after.endAt) - Date.parse(before.endAt)).toBeGreaterThan(45 * 60_000);
  });

  it('extends the time to live, and never shortens it', async () => {
    const id = await create();
    const before = await json(['sandbox', 'info', id]);
    const after = await json(['sandbox', 'refresh', id, '20m']);
    expect(Date.parse(after.endAt)).toBeGreaterThan(Date.parse(before.endAt));
    expect((await json(['sandbox', 'refresh', id, '1m'])).endAt).toBe(after.endAt);
  });

  it('ends one whose time to live is set to 0, and says so', async () => {
    const id = await create();
    expect(await svc(['sandbox', 'timeout', id, '0'])).toEqual({
      code: 0,
      stdout: `${id} ends now.\n`,
      stderr: '',
    });
    await eventually('the end', async () => (await svc(['sandbox', 'info', id])).code === 1);
  });

  it('shows what may leave it', async () => {
    const id = await create();
    expect((await svc(['sandbox', 'network', id])).stdout).toBe('Internet: yes\n');
    expect(await json(['sandbox', 'network', id])).toMatchObject({ sandboxId: id });
    expect((await svc(['sandbox', 'network', id, '--egress-proxy', 'http://x'])).code).toBe(2);
  });

  it('is kept as a snapshot, from which others start', async () => {
    const id = await create();
    await svc(['sandbox', 'exec', id, 'echo kept > note.txt']);
    const made = await svc(['snapshot', 'create', id, '--name', 'state', '--no-memory']);
    expect(made).toMatchObject({ code: 0 });
    const name = made.stdout.trim();
    expect((await svc(['snapshot', 'list', '-q', '--sandbox', id])).stdout).toBe(`${name}\n`);
    const copy = await create(name);
    expect((await svc(['sandbox', 'exec', copy, 'cat note.txt'])).stdout).toBe('kept\n');
    expect((await svc(['snapshot', 'delete', name])).stderr).toContain('stand on it');
    await svc(['sandbox', 'kill', copy]);
    expect(await svc(['snapshot', 'delete', name])).toMatchObject({ code: 0, stdout: `Deleted ${name}\n` });
    expect((await svc(['snapshot', 'list'])).stderr).toContain('No snapshots.');
  });

  it('leaves events behind', async () => {
    const id = await create('-m', 'for=events');
    await svc(['sandbox', 'kill', id]);
    const list = await svc(['event', 'list', '--sandbox', id, '--order', 'asc']);
    expect(list.stdout).toMatch(new RegExp(`created\\s+${id}\\s+for=events\\n.*killed\\s+${id}`));
    expect(await json(['event', 'list', '--sandbox', id, '--type', 'killed'])).toMatchObject([
      { type: 'sandbox.lifecycle.killed', sandboxId: id },
    ]);
  });

  it('pauses and resumes with the files kept', async () => {
    const id = await create();
    expect((await svc(['sandbox', 'exec', id, 'echo kept > note.txt'])).code).toBe(0);
    expect(await svc(['sandbox', 'pause', '--no-memory', id])).toMatchObject({ code: 0 });
    expect(await json(['sandbox', 'info', id])).toMatchObject({ state: 'paused' });
    const gone = await svc(['sandbox', 'exec', id, 'true']);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain('svc sandbox resume');
    expect((await svc(['sandbox', 'resume', id, '-t', '10m'])).stdout).toContain(`${id} runs`);
    expect((await svc(['sandbox', 'exec', id, 'cat note.txt'])).stdout).toBe('kept\n');
  });

  it('copies a file both ways, its mode included, and through the pipes', async () => {
    const id = await create();
    const script = join(local.home, 'run.sh');
    await writeFile(script, '#!/bin/sh\necho ran\n', { mode: 0o755 });
    expect((await svc(['sandbox', 'cp', script, `${id}:`])).stderr).toContain('Copied 19 B to');
    expect((await svc(['sandbox', 'exec', id, './run.sh'])).stdout).toBe('ran\n');
    expect(await svc(['sandbox', 'cp', '-', `${id}:dir/piped.txt`], { stdin: 'from a pipe' })).toMatchObject({
      code: 0,
    });
    expect((await svc(['sandbox', 'cp', `${id}:dir/piped.txt`, '-'])).stdout).toBe('from a pipe');
    const back = join(local.home, 'back.sh');
    expect((await svc(['sandbox', 'cp', `${id}:run.sh`, back])).code).toBe(0);
    expect(await readFile(back, 'utf8')).toBe('#!/bin/sh\necho ran\n');
    expect((await stat(back)).mode & 0o111).not.toBe(0);
  });

  it('copies directories both ways and leaves out what is ignored', async () => {
    const id = await create();
    const source = join(local.home, 'tree');
    await mkdir(join(source, 'sub', 'node_modules'), { recursive: true });
    await writeFile(join(source, 'a.txt'), 'a');
    await writeFile(join(source, 'sub', 'b.txt'), 'b');
    await writeFile(join(source, 'sub', 'node_modules', 'c.txt'), 'c');
    expect(await svc(['sandbox', 'cp', '-x', 'node_modules', source, `${id}:tree`])).toMatchObject({
      code: 0,
    });
    const target = join(local.home, 'tree-back');
    expect(await svc(['sandbox', 'cp', `${id}:tree`, target])).toMatchObject({ code: 0 });
    expect((await readdir(target, { recursive: true })).sort()).toEqual(['a.txt', 'sub', 'sub/b.txt']);
  });

  it('reports a file that is missing on either side', async () => {
    const id = await create();
    const here = await svc(['sandbox', 'cp', join(local.home, 'nothing'), `${id}:x`]);
    expect(here).toMatchObject({ code: 1 });
    expect(here.stderr).toContain('does not exist');
    const there = await svc(['sandbox', 'cp', `${id}:nothing`, local.home]);
    expect(there).toMatchObject({ code: 1 });
    expect(there.stderr).toContain('nothing');
    expect((await svc(['sandbox', 'cp', 'a', 'b'])).code).toBe(2);
  });

  it('shows logs, and follows them until the sandbox is deleted', async () => {
    const id = await create();
    await svc(['sandbox', 'exec', id, 'echo first-line']);
    await eventually('the log', async () =>
      (await svc(['sandbox', 'logs', id, '--raw'])).stdout.includes('first-line'),
    );
    const follow = await svcProcess(['sandbox', 'logs', '-f', '--raw', id], {
      started: async (_child, output) => {
        await eventually('the first line', () => output().includes('first-line'));
        await svc(['sandbox', 'exec', id, 'echo second-line']);
        await eventually('the second line', () => output().includes('second-line'));
        await svc(['sandbox', 'kill', id]);
      },
    });
    expect(follow.code).toBe(0);
    expect(follow.stdout.split('\n').filter((line) => line.includes('first-line'))).toHaveLength(1);
    expect(follow.stderr).toContain('The sandbox is deleted.');
    const afterwards = await svc(['sandbox', 'logs', id, '--raw']);
    expect(afterwards).toMatchObject({ code: 0 });
    expect(afterwards.stdout).toContain('second-line');
    const unknown = await svc(['sandbox', 'logs', `${id}x`]);
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.stderr).toContain('does not exist');
  });

  it('shows metrics once there is a sample', async () => {
    const id = await create();
    await local.server.sampleNow();
    const run = await svc(['sandbox', 'metrics', id]);
    expect(run.stdout).toMatch(/^TIME\s+CPU\s+CORES\s+MEMORY\s+DISK\n\S+Z\s+\d+\.\d %/);
  });

  it('prints the address of a port, and what it answers', async () => {
    const id = await create();
    const server = `require('http').createServer((q,s)=>s.end('ok')).listen(0,'127.0.0.1',function(){console.log(this.address().port)})`;
    const started = await svc(['sandbox', 'exec', '-d', id, `node -e "${server}" > port.txt`]);
    expect(Number(started.stdout)).toBeGreaterThan(0);
    const port = await eventually('the port', async () =>
      (await svc(['sandbox', 'exec', id, 'cat port.txt'])).stdout.trim(),
    );
    const run = await svc(['sandbox', 'port', id, port, '--check']);
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(new RegExp(`^http://${port}-${id}\\.\\S+  200\\n$`));
  });

  it('says why a fork is not possible here, with the request', async () => {
    const id = await create();
    const run = await svc(['sandbox', 'fork', id, '-n', '2']);
    // The process driver keeps no memory, so the service refuses.
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^error: .+/);
    expect(run.stderr).toMatch(/request/);
  });
});

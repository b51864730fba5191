import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { type ProcessOptions, runCli, runProcess } from '../support/run-cli.js';

describe('svc sandbox exec', () => {
  let local: LocalServer;
  let id: string;
  const svc = (args: string[], options: Parameters<typeof runCli>[1] = {}) =>
    runCli(args, { env: local.env, ...options });
  const svcProcess = (args: string[], options: ProcessOptions) =>
    runProcess(args, { env: local.env, ...options });

  beforeAll(async () => {
    local = await startLocalServer();
    const created = await svc(['sandbox', 'create', '--quiet', '--timeout', '10m']);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    id = created.stdout.trim();
  });
  afterAll(() => local?.[Symbol.asyncDispose]());

  it('pipes standard input through and ends when it ends', async () => {
    expect(await svc(['sandbox', 'exec', id, '--', 'cat'], { stdin: 'abc\n' })).toEqual({
      code: 0,
      stdout: 'abc\n',
      stderr: '',
    });
  });

  it('passes an empty input on as an end of file', async () => {
    expect(await svc(['sandbox', 'exec', id, '--', 'cat'], { stdin: '' })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('keeps every byte of binary data in both directions', async () => {
    const data = randomBytes(3 * 1024 * 1024);
    const run = await svc(['sandbox', 'exec', id, '--', 'sha256sum'], { stdin: data });
    expect(run.stdout).toContain(createHash('sha256').update(data).digest('hex'));
    const back = await svc(
      ['sandbox', 'exec', id, '--', 'sh', '-c', 'head -c 1000000 /dev/zero | tr "\\0" "\\377" | base64 -w0'],
      {},
    );
    expect(back.stdout).toBe(Buffer.alloc(1_000_000, 0xff).toString('base64'));
  });

  it('ends although the input stays open when the program does', async () => {
    expect(
      await svcProcess(['sandbox', 'exec', id, '--', 'head', '-n1', '/etc/passwd'], { stdin: 'open' }),
    ).toMatchObject({ code: 0, stderr: '' });
  });

  it('reads nothing with --no-stdin', async () => {
    expect(await svcProcess(['sandbox', 'exec', '--no-stdin', id, '--', 'cat'], { stdin: 'open' })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('ends with the exit code of the program and keeps its streams separate', async () => {
    expect(await svc(['sandbox', 'exec', id, 'echo out; echo err >&2; exit 7'])).toEqual({
      code: 7,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('ends with 128 and the signal that killed the program', async () => {
    expect(await svc(['sandbox', 'exec', id, '--', 'sh', '-c', 'kill -9 $$'])).toMatchObject({ code: 137 });
  });

  it('takes several words exactly and one alone as a line for the shell', async () => {
    const words = ['printf', '[%s]', 'a b', '$HOME', '*', "it's"];
    expect((await svc(['sandbox', 'exec', id, '--', ...words])).stdout).toBe("[a b][$HOME][*][it's]");
    expect((await svc(['sandbox', 'exec', id, 'echo a b | wc -w'])).stdout.trim()).toBe('2');
  });

  it('gives variables and a working directory', async () => {
    const run = await svc([
      'sandbox',
      'exec',
      '-e',
      'GREETING=hi=there',
      '-w',
      '/tmp',
      id,
      'echo $GREETING; pwd',
    ]);
    expect(run).toEqual({ code: 0, stdout: 'hi=there\n/tmp\n', stderr: '' });
  });

  it('prints one record with --json', async () => {
    const run = await svc(['sandbox', 'exec', '--json', id, '--', 'sh', '-c', 'echo hi; exit 3']);
    expect(run.code).toBe(3);
    expect(JSON.parse(run.stdout)).toEqual({
      exitCode: 3,
      error: 'exit status 3',
      stdout: 'hi\n',
      stderr: '',
    });
  });

  it('kills a program that runs longer than --timeout', async () => {
    const run = await svc(['sandbox', 'exec', '--timeout', '1s', id, '--', 'sleep', '600']);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/longer than 1000 ms/);
  });

  it('passes Ctrl+C on to the program, which may tidy up, and ends with 130', async () => {
    const script = 'trap "echo tidied; exit 0" INT; echo ready; while :; do sleep 0.1; done';
    const run = await svcProcess(['sandbox', 'exec', id, '--', 'bash', '-c', script], {
      started: async (child, output) => {
        await eventually('the program', () => output().includes('ready'));
        child.kill('SIGINT');
      },
    });
    expect(run).toMatchObject({ code: 130, stdout: 'ready\ntidied\n' });
  });

  it('kills a program that does not care for Ctrl+C', async () => {
    // With the process driver all programs of the machine are seen.
    const mark = randomBytes(6).toString('hex');
    const script = `trap "" INT; echo ready; : mark-${mark}; while :; do sleep 0.1; done`;
    const running = async () =>
      (await svc(['sandbox', 'exec', id, `ps -eo args | grep -c "[m]ark-${mark}"; true`])).stdout.trim();
    const run = await svcProcess(['sandbox', 'exec', id, '--', 'bash', '-c', script], {
      started: async (child, output) => {
        await eventually('the program', () => output().includes('ready'));
        expect(Number(await running())).toBeGreaterThan(0);
        child.kill('SIGINT');
      },
    });
    expect(run.code).toBe(130);
    await eventually('the end of the program', async () => (await running()) === '0');
  });

  it('says that options come before the id', async () => {
    const run = await svc(['sandbox', 'exec', id, '-w', '/tmp', 'ls']);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('Put options before the id');
  });

  it('leaves a detached program that ps lists with its age, attach follows, and ps --kill ends', async () => {
    const line = 'echo begun; read -r _ < gate; echo done; exit 3';
    await svc(['sandbox', 'exec', id, 'mkfifo gate']);
    const pid = (await svc(['sandbox', 'exec', '-d', id, line])).stdout.trim();
    const listed = await svc(['sandbox', 'ps', id]);
    expect(listed.stdout).toMatch(new RegExp(`${pid} +\\d+\\S* ago +- +${'echo begun; read'}`));
    const attached = svc(['sandbox', 'attach', id, pid]);
    await svc(['sandbox', 'exec', id, 'echo go > gate']);
    expect(await attached).toEqual({ code: 3, stdout: 'begun\ndone\n', stderr: '' });
    const other = (await svc(['sandbox', 'exec', '-d', id, 'sleep 600'])).stdout.trim();
    expect((await svc(['sandbox', 'ps', id, '--kill', other])).stdout).toBe(`Killed ${other}\n`);
    expect((await svc(['sandbox', 'ps', id, '--kill', 'x'])).code).toBe(2);
  });
});

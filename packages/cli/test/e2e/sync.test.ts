import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { type ProcessOptions, runCli, runProcess } from '../support/run-cli.js';

let local: LocalServer;
let id: string;
let directory: string;
let count = 0;
beforeAll(async () => {
  local = await startLocalServer();
  id = (await svc(['sandbox', 'create', '-q'])).stdout.trim();
});
afterAll(async () => {
  await local?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  directory = await mkdtemp(join(local.home, 'tree-'));
  count += 1;
});

const svc = (args: string[], options: Parameters<typeof runCli>[1] = {}) =>
  runCli(args, { env: local.env, ...options });
const svcProcess = (args: string[], options: ProcessOptions) =>
  runProcess(args, { env: local.env, ...options });
const inSandbox = async (line: string) =>
  (await svc(['sandbox', 'exec', id, '--', 'bash', '-c', line])).stdout;
const sync = (...flags: string[]) => svc(['sync', directory, `${id}:tree-${count}`, '--once', ...flags]);

it('brings both sides together once, remembers it, and reports what it did in lines or records', async () => {
  await writeFile(join(directory, 'here'), 'here');
  await inSandbox(
    `mkdir -p tree-${count} && printf there > tree-${count}/there && touch $'tree-${count}/a\\nb'`,
  );
  const first = await sync();
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout.split('\n').sort()).toEqual(
    [
      '',
      '-> new here  4 B',
      '<- new "a\\nb"  0 B',
      '<- new there  5 B',
      '== 3 entries are equal on both sides',
    ].sort(),
  );
  await rm(join(directory, 'here'));
  const second = await sync('--json');
  const records = second.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(records.find(({ action }) => action === 'delete')).toMatchObject({ side: 'remote', path: 'here' });
  expect(records.at(-1)).toEqual({ type: 'synced', entries: 2, changes: 1 });
  expect(await inSandbox(`ls tree-${count} | wc -l`)).toBe('3\n');
});

it('says conflicts, and what is skipped', async () => {
  await writeFile(join(directory, 'a'), 'mine');
  await inSandbox(`mkdir -p tree-${count} && cd tree-${count} && printf theirs > a && ln -s /etc/passwd p`);
  const { stdout } = await sync();
  expect(stdout).toMatch(
    /^!! conflict a: the local version stays, the other one is a\.conflict-remote-\S+$/m,
  );
  expect(stdout).toMatch(/^-- skipped p \(remote\): the link is absolute$/m);
  expect((await readdir(directory)).length).toBe(2);
  expect(await readFile(join(directory, 'a'), 'utf8')).toBe('mine');
});

it('refuses flags and paths that make no sense with exit code 2, and stops with 1 when a side is deleted', async () => {
  const wrong = [
    ['sync', directory, `${id}:x`, '--push', '--pull'],
    ['sync', directory, `${id}:x`, '--push', '--prefer', 'local'],
    ['sync', directory, `${id}:x`, '--delete'],
    ['sync', `${id}:x`, directory],
    ['sync', directory, directory],
  ];
  for (const args of wrong) expect(await svc(args), args.join(' ')).toMatchObject({ code: 2 });
  await writeFile(join(directory, 'file'), '');
  expect(await svc(['sync', join(directory, 'file'), `${id}:x`, '--once'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is no directory'),
  });
  await writeFile(join(directory, 'other'), '');
  expect((await sync()).code).toBe(0);
  await inSandbox(`rm -r tree-${count}`);
  expect(await sync('--json')).toMatchObject({ code: 1, stderr: expect.stringContaining('"sync_stopped"') });
  expect((await readdir(directory)).length).toBe(2);
  await mkdir(join(directory, 'more'));
  expect((await sync('--no-state')).code).toBe(0);
});

it('follows both sides until Ctrl+C, which ends it with 0, and fails when the sandbox is killed', async () => {
  const own = (await svc(['sandbox', 'create', '-q'])).stdout.trim();
  const follow = (started: (child: ChildProcess, output: () => string) => Promise<void>) =>
    svcProcess(['sync', directory, `${own}:tree`], { started });
  const told = (output: () => string, line: RegExp) => eventually(`${line}`, () => line.test(output()));
  const run = await follow(async (child, output) => {
    await told(output, /^== 0 entries/m);
    await writeFile(join(directory, 'a'), '1');
    await told(output, /^-> new a {2}1 B$/m);
    await told(output, /^== 1 entries/m);
    await svc(['sandbox', 'exec', own, '--', 'sh', '-c', 'printf 22 > tree/a']);
    await told(output, /^<- changed a {2}2 B$/m);
    child.kill('SIGINT');
  });
  expect(run).toMatchObject({ code: 0, stderr: 'Both sides are followed. Ctrl+C ends.\n' });
  expect(await readFile(join(directory, 'a'), 'utf8')).toBe('22');
  const killed = await follow(async (_, output) => {
    await told(output, /^== 1 entries/m);
    expect((await svc(['sandbox', 'kill', own])).code).toBe(0);
  });
  expect(killed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*killed/m) });
  expect(await readFile(join(directory, 'a'), 'utf8')).toBe('22');
});

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { run } from '../support/sandboxes.js';

const findings = await checkHost({ dataDir: tmpdir() });
const able =
  linuxDriverCanRun(findings) && findings.every(({ ok, neededFor }) => ok || neededFor !== 'memorySnapshot');
if (!able) console.warn('Paused memory across a loss of the machine: skipped, this host keeps no memory');

/** Counts in its memory, one more for each line into a pipe. */
const COUNTER = `mkdir /tmp/counter; cd /tmp/counter; mkfifo in
nohup bash -c 'exec 3<>in; n=0; echo 0 > out; while read line <&3; do echo "$((++n)) $$" > out; done' >/dev/null 2>&1 &
until test -s out; do sleep 0.01; done`;
const STEP = `cd /tmp/counter; before=$(cat out); echo go > in
until test "$(cat out)" != "$before" -a -s out; do sleep 0.01; done; cat out`;

/**
 * Takes down what a restart of the machine takes: the processes, the mount namespace with everything mounted in it, the
 * cgroups, the network. What is left is the data directory.
 */
async function loseTheMachine(dataDir: string): Promise<string[]> {
  const tag = tagOf(dataDir);
  const keeper = JSON.parse(await readFile(path.join(dataDir, 'driver/keeper.json'), 'utf8')) as {
    pid: number;
  };
  const lost: string[] = [];
  const hierarchies = await cgroupsOf(dataDir);
  const processes = new Set((await Promise.all(hierarchies.map(processesBelow))).flat());
  for (const pid of processes) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined);
    // One that is ending already may be gone by now.
    if (name !== undefined && killed(pid)) lost.push(`process ${name.trim()}`);
  }
  process.kill(keeper.pid, 'SIGKILL');
  lost.push('the mount namespace');
  const quietly = (command: string, ...words: string[]) =>
    new Promise<void>((resolve) =>
      execFile(command, words, (error) => {
        if (error === null) lost.push(words.join(' ').replace(tag, '…'));
        resolve();
      }),
    );
  await quietly('ip', 'link', 'del', `svc${tag}`);
  await quietly('nft', 'delete', 'table', 'inet', `svc_${tag}`);
  await eventually('the cgroups are removed', async () => {
    const left = await Promise.all(hierarchies.map(removeBelow));
    return left.every((gone) => gone);
  });
  lost.push('the cgroups');
  await eventually('the loop device is detached', async () => {
    const devices = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'));
    const files = await Promise.all(
      devices.map((name) => readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '')),
    );
    return !files.some((file) => file.startsWith(dataDir));
  });
  lost.push('the loop device');
  return lost;
}

/** Kills a process. False when it has ended already. */
function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

const tagOf = (dataDir: string) =>
  createHash('sha256').update(path.join(dataDir, 'driver')).digest('hex').slice(0, 8);

/** Where the driver's cgroup is in each hierarchy, or would be. */
async function cgroupsOf(dataDir: string): Promise<string[]> {
  return (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => path.join(line.split(' ')[4]!, `svc-${tagOf(dataDir)}`));
}

async function processesBelow(cgroup: string): Promise<number[]> {
  const own = await readFile(path.join(cgroup, 'cgroup.procs'), 'utf8').catch(() => '');
  const below = await Promise.all((await foldersIn(cgroup)).map(processesBelow));
  return [...own.split('\n').filter(Boolean).map(Number), ...below.flat()];
}

async function removeBelow(cgroup: string): Promise<boolean> {
  for (const folder of await foldersIn(cgroup)) await removeBelow(folder);
  return rmdir(cgroup).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(directory, entry.name));
}

it.skipIf(!able)(
  'programs of paused sandboxes go on after the server was killed and the machine lost its namespaces and mounts',
  async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-memory-survives-'));
    const env = {
      ...childEnvironment(dataDir, 'linux'),
      SVC_POOL_SIZE: '0',
    };
    let server: ChildServer = await startChildServer(env);
    const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'server/credentials.json'), 'utf8'));
    const api = (method: string, target: string, body: object = {}) =>
      fetch(`${server.apiUrl}${target}`, {
        method,
        signal: AbortSignal.timeout(120_000),
        headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
        ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
      });
    const start = async (options: object) => {
      const answer = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 3600, ...options });
      const { sandboxID: id, envdAccessToken: token } = (await answer.json()) as Record<string, string>;
      const sandbox = { id: id!, token: token! };
      await inside(sandbox, COUNTER);
      return { ...sandbox, program: (await inside(sandbox, STEP)).split(' ')[1]! };
    };
    const inside = (sandbox: { id: string; token: string }, command: string) =>
      run({ server: { sandboxUrl: server.sandboxUrl } } as never, sandbox, command);
    const stateOf = async (id: string) =>
      ((await (await api('GET', `/sandboxes/${id}`)).json()) as { state: string }).state;
    try {
      const asked = await start({});
      const expired = await start({ autoPause: true });
      expect((await api('POST', `/sandboxes/${expired.id}/timeout`, { timeout: 1 })).status).toBe(204);
      expect((await api('POST', `/sandboxes/${asked.id}/pause`)).status).toBe(204);
      await eventually(
        'the other one is paused at its time',
        async () => (await stateOf(expired.id)) === 'paused',
      );
      // It counts as paused from the moment on that the pause begins. This waits for the end of a pause under way.
      expect([204, 409]).toContain((await api('POST', `/sandboxes/${expired.id}/pause`)).status);
      await server.kill();
      const lost = await loseTheMachine(dataDir);

      server = await startChildServer(env);
      for (const sandbox of [asked, expired]) {
        expect(await stateOf(sandbox.id)).toBe('paused');
        const since = performance.now();
        expect((await api('POST', `/v2/sandboxes/${sandbox.id}/connect`)).status).toBe(201);
        const took = Math.round(performance.now() - since);
        // The same program, one step after the one before.
        expect(await inside(sandbox, STEP)).toBe(`2 ${sandbox.program}`);
        console.log(
          `lost: ${lost.join(', ')}; resumed in ${took} ms: program ${sandbox.program.trim()} counted on to 2`,
        );
        expect((await api('DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
      }
      await server.stop();
      expect((await cgroupsOf(dataDir)).filter((cgroup) => existsSync(cgroup))).toEqual([]);
    } finally {
      await server.kill().catch(() => {});
      // After a failure something is left.
      await loseTheMachine(dataDir).catch(() => {});
      await rm(dataDir, { recursive: true, force: true });
    }
  },
  180_000,
);

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { eventually } from '@svc/support/eventually';
import { childProgram } from '@svc/support/testing/child-program';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planStart } from '../../src/process/separate/plan-start.js';
import { prepareDataLayout } from '../../src/storage/data/data-layout.js';
import { findHindrance, findServiceUser, ServiceUserError } from '../../src/storage/data/service-user.js';
import { BASE_ROOT, type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';

const root = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost());
const hindrance = root
  ? await findHindrance(await findServiceUser(), tmpdir())
  : 'the linux driver needs root';
const able = hindrance === undefined;
if (!able) console.warn(`The server as two processes: skipped, ${hindrance}`);
const run = promisify(execFile);
const NOBODY = 65_534;
const runtime = childProgram(new URL('../../src/process/separate/svc-runtime.ts', import.meta.url));

// Each test starts both processes from sources, some twice.
describe.skipIf(!able)('a server that root starts', { timeout: 180_000 }, () => {
  let directory: string;
  let dataDir: string;
  let server: ChildServer | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'separated-'));
    // As /var/lib is: others may pass through, not look.
    await chmod(directory, 0o711);
    dataDir = path.join(directory, 'data');
  });

  afterEach(async () => {
    if (server !== undefined && server.child.exitCode === null && server.child.signalCode === null)
      await server.stop();
    server = undefined;
    await rm(directory, { recursive: true, force: true });
  });

  const start = (env: Record<string, string> = {}) =>
    startChildServer({ ...childEnvironment(dataDir, 'linux'), ...env });

  async function api(to: ChildServer, method: string, route: string, body?: object): Promise<unknown> {
    const { apiKey } = JSON.parse(readFileSync(path.join(dataDir, 'server', 'credentials.json'), 'utf8')) as {
      apiKey: string;
    };
    const answer = await fetch(`${to.apiUrl}${route}`, {
      method,
      headers: { 'X-API-Key': apiKey, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.ok, `${method} ${route}: ${answer.status}`).toBe(true);
    const text = await answer.text();
    return text === '' ? undefined : JSON.parse(text);
  }

  /** The process that serves, which that of root started. */
  async function serverOf({ child }: ChildServer): Promise<number> {
    const { uid } = await findServiceUser();
    const pid = childrenOf(child.pid!).find((each) => statSync(`/proc/${each}`).uid === uid);
    if (pid === undefined) throw new Error('root has started no server');
    return pid;
  }

  function childrenOf(pid: number): number[] {
    const text = readIfThere(`/proc/${pid}/task/${pid}/children`).trim();
    return text === '' ? [] : text.split(' ').map(Number);
  }

  /** A process and all below it. */
  function descendants(pid: number): number[] {
    return [pid, ...childrenOf(pid).flatMap(descendants)];
  }

  function readIfThere(file: string): string {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  }

  const status = (pid: number) => readFileSync(`/proc/${pid}/status`, 'utf8');

  it('runs as the user svc, without any capability or a way to get one, beside a process of root', async () => {
    server = await start();
    const { uid, gid } = await findServiceUser();
    const pid = await serverOf(server);
    const own = status(pid);
    expect(own).toMatch(new RegExp(`^Uid:\\s${uid}\\s${uid}\\s${uid}\\s${uid}$`, 'm'));
    expect(own).toMatch(new RegExp(`^Gid:\\s${gid}\\s${gid}\\s${gid}\\s${gid}$`, 'm'));
    expect(own).toMatch(/^Groups:\s*$/m);
    // All threads, and whatever it starts.
    for (const task of await readdir(`/proc/${pid}/task`)) {
      const thread = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8');
      expect(thread).toMatch(/^NoNewPrivs:\s1$/m);
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        expect(thread).toMatch(new RegExp(`^${set}:\\s0{16}$`, 'm'));
    }
    expect(status(server.child.pid!)).toMatch(/^Uid:\s0\s0\s0\s0$/m);
    expect(readFileSync(`/proc/${server.child.pid}/cmdline`, 'utf8')).toMatch(/^svc-runtime/);
    const { sandboxID } = (await api(server, 'POST', '/sandboxes', { templateID: 'base', timeout: 300 })) as {
      sandboxID: string;
    };
    await api(server, 'POST', `/sandboxes/${sandboxID}/pause`);
    await api(server, 'POST', `/v2/sandboxes/${sandboxID}/connect`, { timeout: 60 });
    await api(server, 'DELETE', `/sandboxes/${sandboxID}`);
  });

  it('separates the files of the two, and closes the socket to every other user', async () => {
    server = await start();
    const { uid, gid } = await findServiceUser();
    const driver = path.join(dataDir, 'driver');
    expect([statSync(dataDir).uid, statSync(dataDir).mode & 0o777]).toEqual([0, 0o710]);
    expect([statSync(driver).uid, statSync(driver).mode & 0o777]).toEqual([0, 0o700]);
    for (const file of ['server.key', 'credentials.json', 'operator-token'])
      expect(statSync(path.join(dataDir, 'server', file)).uid).toBe(uid);
    const as = (user: { uid: number; gid: number }, script: string) =>
      run(process.execPath, ['-e', script], { ...user, cwd: '/' }).then(({ stdout }) => stdout.trim());
    const read = `require('fs').readdir(${JSON.stringify(driver)}, (e) => console.log(e?.code))`;
    expect(await as({ uid, gid }, read)).toBe('EACCES');
    const write = `require('fs').rename(${JSON.stringify(driver)}, ${JSON.stringify(`${driver}.mine`)}, (e) => console.log(e?.code))`;
    expect(await as({ uid, gid }, write)).toBe('EACCES');
    const socket = JSON.stringify(path.join(dataDir, 'runtime.sock'));
    const dial = `require('net').connect(${socket}).on('error', (e) => console.log(e.code)).on('connect', () => process.exit())`;
    expect(await as({ uid: NOBODY, gid: NOBODY }, dial)).toBe('EACCES');
    // One of its own user gets no further than the token.
    const stranger = connect(path.join(dataDir, 'runtime.sock'));
    stranger.end(
      'POST /driver.Driver/List HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    );
    let answer = '';
    stranger.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
    await once(stranger, 'close');
    expect(answer).toMatch(/^HTTP\/1\.1 401/);
  });

  it('ends with a clear message when the server is killed, and takes its sandboxes over afterwards', async () => {
    server = await start();
    const { sandboxID } = (await api(server, 'POST', '/sandboxes', { templateID: 'base', timeout: 300 })) as {
      sandboxID: string;
    };
    let stderr = '';
    server.child.stderr!.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const ended = once(server.child, 'close');
    process.kill(await serverOf(server), 'SIGKILL');
    expect((await ended)[0]).toBe(1);
    expect(stderr).toContain('The server was ended by SIGKILL; sandboxes run on');
    server = await start();
    expect(await api(server, 'GET', `/sandboxes/${sandboxID}`)).toMatchObject({ state: 'running' });
    await api(server, 'DELETE', `/sandboxes/${sandboxID}`);
  });

  it('leaves no server behind when the process of root is killed, and its sandboxes are taken over', async () => {
    server = await start();
    const { sandboxID } = (await api(server, 'POST', '/sandboxes', { templateID: 'base', timeout: 300 })) as {
      sandboxID: string;
    };
    const serving = await serverOf(server);
    await server.kill();
    await eventually('the server to end', () =>
      existsSync(`/proc/${serving}`) && !readIfThere(`/proc/${serving}/status`).includes('State:\tZ')
        ? undefined
        : true,
    );
    server = await start();
    expect(await api(server, 'GET', `/sandboxes/${sandboxID}`)).toMatchObject({ state: 'running' });
    await api(server, 'DELETE', `/sandboxes/${sandboxID}`);
  });

  it('ends in order with both processes on a signal', async () => {
    server = await start();
    const serving = await serverOf(server);
    const ended = once(server.child, 'exit');
    server.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(existsSync(`/proc/${serving}`)).toBe(false);
    expect(existsSync(path.join(dataDir, 'runtime.sock'))).toBe(false);
  });

  it('needs no rights of root, and cannot get any, beside a runtime that was started by itself', async () => {
    const user = await findServiceUser();
    const socket = path.join(dataDir, 'runtime.sock');
    const alone = (): ChildProcess =>
      spawn(process.execPath, [...runtime.options, runtime.file, '--data-dir', dataDir], {
        env: { PATH: process.env.PATH ?? '', SVC_SERVER_KEY: 'a'.repeat(64), SVC_BASE_ROOT: BASE_ROOT },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
    const first = alone();
    const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
    const setpriv = ['setpriv', ...ids, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
    server = await startChildServer(
      { ...childEnvironment(dataDir, 'linux'), SVC_RUNTIME_SOCKET: socket, HOME: '/nonexistent' },
      { within: setpriv },
    );
    const own = status(server.child.pid!);
    expect(own).toMatch(/^NoNewPrivs:\s1$/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(own).toMatch(new RegExp(`^${set}:\\s0{16}$`, 'm'));
    expect(status(first.pid!)).toMatch(/^Uid:\s0\s0\s0\s0$/m);
    const { mode, uid, gid } = statSync(`${socket}.token`);
    expect([mode & 0o777, uid, gid]).toEqual([0o640, 0, user.gid]);
    const { sandboxID } = (await api(server, 'POST', '/sandboxes', { templateID: 'base', timeout: 300 })) as {
      sandboxID: string;
    };
    // Each ends with the other; both started again find the sandbox.
    const ended = once(first, 'exit');
    await server.kill();
    expect(await ended).toEqual([0, null]);
    const second = alone();
    server = await startChildServer(
      { ...childEnvironment(dataDir, 'linux'), SVC_RUNTIME_SOCKET: socket, HOME: '/nonexistent' },
      { within: setpriv },
    );
    expect(await api(server, 'GET', `/sandboxes/${sandboxID}`)).toMatchObject({ state: 'running' });
    await api(server, 'DELETE', `/sandboxes/${sandboxID}`);
    const over = once(second, 'exit');
    await server.stop();
    expect(await over).toEqual([0, null]);
    expect(existsSync(`${socket}.token`)).toBe(false);
  });

  it('puts no key and no token into the environment or the arguments of any process, and writes no cores', async () => {
    const key = 'b'.repeat(60).concat('cafe');
    const token = `operator-token-of-this-test-${'x'.repeat(20)}`;
    server = await start({ SVC_SERVER_KEY: key, SVC_OPERATOR_TOKEN: token });
    const { apiKey } = JSON.parse(readFileSync(path.join(dataDir, 'server', 'credentials.json'), 'utf8')) as {
      apiKey: string;
    };
    const secrets = [key, token, apiKey, 'value-of-a-secret', 'password-of-a-registry'];
    const found = new Set<string>();
    const cores = new Set<string>();
    let looks = 0;
    const look = () => {
      looks += 1;
      const ours = descendants(server!.child.pid!);
      const asStarted = readIfThere(`/proc/${server!.child.pid}/cmdline`);
      for (const pid of ours) {
        // A child that does not run its program yet is still a copy of the server, which this test gave its key that way.
        const isServer = readIfThere(`/proc/${pid}/cmdline`) === asStarted;
        for (const file of isServer ? ['cmdline'] : ['cmdline', 'environ']) {
          const text = readIfThere(`/proc/${pid}/${file}`);
          for (const secret of secrets) if (text.includes(secret)) found.add(`${file}: ${text}`);
        }
        const limits = readIfThere(`/proc/${pid}/limits`);
        if (limits !== '' && !/^Max core file size\s+0\s/m.test(limits))
          cores.add(readIfThere(`/proc/${pid}/cmdline`));
      }
    };
    const watching = setInterval(look, 5);
    try {
      await api(server, 'POST', '/secrets', { name: 'mine', value: 'value-of-a-secret' });
      const { sandboxID, envdAccessToken } = (await api(server, 'POST', '/sandboxes', {
        templateID: 'base',
        timeout: 300,
      })) as { sandboxID: string; envdAccessToken: string };
      secrets.push(envdAccessToken);
      await api(server, 'POST', `/sandboxes/${sandboxID}/pause`);
      await api(server, 'POST', `/v2/sandboxes/${sandboxID}/connect`, { timeout: 60 });
      // A pull runs a program with the registry's password.
      const made = (await api(server, 'POST', '/v3/templates', { name: 'pulled' })) as {
        templateID: string;
        buildID: string;
      };
      await api(server, 'POST', `/v2/templates/${made.templateID}/builds/${made.buildID}`, {
        fromImage: 'registry.invalid/image:1',
        fromImageRegistry: { type: 'registry', username: 'me', password: 'password-of-a-registry' },
      });
      const at = `/templates/${made.templateID}/builds/${made.buildID}/status`;
      await eventually('the build to fail', async () =>
        ((await api(server!, 'GET', at)) as { status: string }).status === 'error' ? true : undefined,
      );
      await api(server, 'DELETE', `/sandboxes/${sandboxID}`);
    } finally {
      clearInterval(watching);
    }
    expect(looks).toBeGreaterThan(10);
    expect([...found]).toEqual([]);
    expect([...cores]).toEqual([]);
  });

  it('does not run as root, nor as a user that does not exist', async () => {
    await expect(findServiceUser('root')).rejects.toThrow(ServiceUserError);
    await expect(findServiceUser('no-such-user-of-tests')).rejects.toThrow(/there is no user/);
    await expect(findServiceUser('-u; id')).rejects.toThrow(/no name of a user/);
    await expect(start({ SVC_USER: 'root' })).rejects.toThrow(/does not run as root/);
  });

  it('is one process, and says why, where its user may not pass to the data directory', async () => {
    await chmod(directory, 0o700);
    const plan = await planStart({ dataDir });
    expect(plan).toMatchObject({ kind: 'alone', warning: expect.stringMatching(/may not pass through/) });
    await expect(planStart({ dataDir, user: 'svc' })).rejects.toThrow(/put it below directories/);
    await chmod(directory, 0o711);
    expect(await planStart({ dataDir })).toMatchObject({ kind: 'as-root' });
    expect(await planStart({ dataDir, driver: 'process' })).toEqual({ kind: 'alone' });
  });

  it('follows no link that another user put into the data directory', async () => {
    const user = await findServiceUser();
    await mkdir(dataDir);
    await chmod(dataDir, 0o777);
    await expect(prepareDataLayout(dataDir, user)).rejects.toThrow(/open to writes of other users/);
    await chmod(dataDir, 0o755);
    const outside = path.join(directory, 'outside');
    await mkdir(outside, { mode: 0o700 });
    await symlink(outside, path.join(dataDir, 'driver'));
    await expect(prepareDataLayout(dataDir, user)).rejects.toThrow(/is no directory/);
    expect(await readdir(outside)).toEqual([]);
  });

  it('takes over what a server of one process left, and nothing that another user could have put there', async () => {
    await mkdir(path.join(dataDir, 'driver'), { recursive: true, mode: 0o700 });
    await mkdir(path.join(dataDir, 'builds'));
    await writeFile(path.join(dataDir, 'server.key'), 'k'.repeat(64));
    await mkdir(path.join(dataDir, 'volumes', 'vol-1'), { recursive: true });
    // As prepare-host puts it into /var/lib/svc: programs that root runs must stay root's.
    await mkdir(path.join(dataDir, 'criu'));
    const user = await findServiceUser();
    const layout = await prepareDataLayout(dataDir, user);
    expect((await readdir(dataDir)).sort()).toEqual(['criu', 'driver', 'server']);
    expect(statSync(path.join(dataDir, 'criu')).uid).toBe(0);
    expect(await readdir(path.join(layout.runtime, 'volumes'))).toEqual(['vol-1']);
    expect((await readdir(layout.server)).sort()).toEqual(['builds', 'server.key']);
    expect(statSync(path.join(layout.server, 'server.key')).uid).toBe(user.uid);
    await prepareDataLayout(dataDir, user);
    await expect(prepareDataLayout(dataDir, { name: 'nobody', uid: NOBODY, gid: NOBODY })).rejects.toThrow(
      /belongs to user/,
    );
    await run('chown', [String(NOBODY), dataDir]);
    await expect(prepareDataLayout(dataDir, user)).rejects.toThrow(/belongs to another user/);
    await run('chown', ['0', dataDir]);
    await rm(path.join(dataDir, 'server'), { recursive: true });
  });
});

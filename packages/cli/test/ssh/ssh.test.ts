import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createConnection, createServer, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { Client, type Sandbox } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { cleanEnvironment } from '../support/run-cli.js';
import { type ProgramOptions, runProgram, writeSshConfig } from '../support/ssh-home.js';
import { openTerminal } from '../support/terminal.js';

const linux = linuxDriverCanRun(await checkHost({}));
if (!linux) console.warn('ssh on the linux driver: skipped, this host cannot run it');

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

// The other driver takes as long again, and little of this depends on it.
const both = process.env.SVC_HEAVY === '1' ? (['process', 'linux'] as const) : (['linux'] as const);

describe.each(linux ? both : (['process'] as const))('ssh on the %s driver', (driver) => {
  let local: LocalServer;
  let sandbox: Sandbox;
  let config: string;
  let host: string;
  let master: ChildProcess | undefined;
  beforeAll(async () => {
    local = await startLocalServer(driver);
    const { apiKey, apiUrl, sandboxUrl } = local.server;
    const client = new Client({ apiKey, apiUrl, sandboxUrl });
    sandbox = await client.sandboxes.create({ timeoutMs: 600_000, metadata: { name: 'Work' } });
    host = `${sandbox.id}.svc`;
    ({ file: config } = await writeSshConfig(local));
    // Most tests share one connection, as people do; each that is about connecting makes its own.
    master = spawn('ssh', [...shared(), '-N', '-M', host], {
      env: cleanEnvironment(local.env),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await eventually(
      'the shared connection',
      async () => (await ssh(['-O', 'check', host])).code === 0,
      60_000,
    );
  });
  afterAll(async () => {
    if (master?.exitCode === null) {
      master.kill();
      await once(master, 'exit');
    }
    await local?.[Symbol.asyncDispose]();
  });

  const shared = () => ['-F', config, '-o', `ControlPath=${local.home}/master`];
  const alone = () => ['-F', config, '-o', 'ControlPath=none'];
  const ssh = (args: string[], options?: ProgramOptions) =>
    runProgram(local, ['ssh', ...shared(), ...args], options);

  it('runs a command and ends with its exit code, its output on the right streams', async () => {
    const run = await ssh([host, 'echo out; echo err >&2; exit 7']);
    expect({ ...run, stdout: run.stdout.toString() }).toEqual({
      code: 7,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('finds a sandbox by its name, as it is spelled, and says which user there is not', async () => {
    const named = await runProgram(
      local,
      ['ssh', ...alone(), '-o', 'SendEnv=LC_TEST', 'Work.svc', 'echo "$SVC_SANDBOX_ID $LC_TEST"'],
      { env: { LC_TEST: "it's" } },
    );
    expect([named.stderr, named.stdout.toString()]).toEqual(['', `${sandbox.id} it's\n`]);
    const stranger = await runProgram(local, ['ssh', ...alone(), `nobody-here@${host}`, 'true']);
    expect(stranger.code).toBe(255);
    expect(stranger.stderr).toMatch(/There is no user "nobody-here" in the sandbox/);
  });

  it('reports that a signal ended a program', async () => {
    const killed = await ssh([host, 'kill -KILL $$']);
    expect(killed.code).toBe(255);
  });

  it('carries 50 MB through standard input and output unchanged, in bounded memory', async () => {
    const pid = await proxyOf(local);
    const before = await peakMemory(pid);
    const bytes = randomBytes(50_000_000);
    const run = await ssh([host, 'cat'], { stdin: bytes });
    expect(run.code).toBe(0);
    expect(sha256(run.stdout)).toBe(sha256(bytes));
    expect((await peakMemory(pid)) - before).toBeLessThan(120 * 1024);
  });

  it('copies files with scp and sftp, with any name', async () => {
    const dir = join(local.home, 'up');
    await mkdir(dir, { recursive: true });
    const names = ['plain', 'two words', '-dash', 'ünï 漢', 'line\nbreak', 'quote\'"', '*star'];
    for (const name of names) await writeFile(join(dir, name), `content of ${name}`, { mode: 0o640 });
    await symlink('plain', join(dir, 'link'));
    const up = await runProgram(local, ['scp', ...shared(), '-rp', dir, `${host}:copied`]);
    expect(up).toMatchObject({ code: 0, stderr: '' });
    const down = await runProgram(local, [
      'scp',
      ...shared(),
      '-rp',
      `${host}:copied`,
      join(local.home, 'down'),
    ]);
    expect(down).toMatchObject({ code: 0, stderr: '' });
    for (const name of names)
      expect(await readFile(join(local.home, 'down', name), 'utf8')).toBe(`content of ${name}`);
    const there = await ssh([host, 'stat -c "%a %U" copied/plain; whoami']);
    const [mode, owner, me] = there.stdout.toString().split(/\s/);
    expect([mode, owner]).toEqual(['640', me]);
    const batch = [
      'mkdir box',
      'cd box',
      'put "up/two words" "a b"',
      'rename "a b" c',
      'ln -s c symbolic',
      'ln c hard',
      'chmod 600 c',
      'ls -l',
      'rm symbolic',
      'rm hard',
      'get c c.back',
      'rm c',
      'cd ..',
      'rmdir box',
      'df .',
      '-get missing',
      'pwd',
    ];
    const sftp = await runProgram(local, ['sftp', ...shared(), '-b', '-', host], {
      stdin: `${batch.join('\n')}\n`,
    });
    expect(sftp.stderr).toMatch(/missing/);
    expect(sftp.code).toBe(0);
    expect(sftp.stdout.toString()).toMatch(/-rw-------\s+2 /);
    expect(sftp.stdout.toString()).toMatch(/lrwxrwxrwx.*symbolic/);
    expect(await readFile(join(local.home, 'c.back'), 'utf8')).toBe('content of two words');
    await rm(dir, { recursive: true });
  });

  it('synchronizes a tree with rsync, the second time without sending anything', async () => {
    const dir = join(local.home, 'tree');
    await mkdir(join(dir, 'a/b'), { recursive: true });
    for (let n = 0; n < 200; n += 1) await writeFile(join(dir, 'a/b', `file ${n}`), randomBytes(2000));
    await writeFile(join(dir, 'big'), randomBytes(5_000_000));
    const rsync = (...args: string[]) =>
      runProgram(local, ['rsync', '-a', '--stats', '-e', ['ssh', ...shared()].join(' '), ...args]);
    const first = await rsync(`${dir}/`, `${host}:tree/`);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const second = await rsync(`${dir}/`, `${host}:tree/`);
    expect(second.stdout.toString()).toMatch(/Number of regular files transferred: 0/);
    const back = await rsync(`${host}:tree/`, join(local.home, 'tree-back/'));
    expect(back.code).toBe(0);
    expect(sha256(await readFile(join(local.home, 'tree-back/big')))).toBe(
      sha256(await readFile(join(dir, 'big'))),
    );
  });

  it('gives a terminal of the right size, which changes, and ends with the exit code of the shell', async () => {
    const pty = openTerminal(
      { shell: `exec ssh -F '${config}' -o ControlPath='${local.home}/master' ${host}` },
      { env: local.env, cols: 91, rows: 33 },
    );
    onTestFinished(() => pty[Symbol.dispose]());
    pty.type('stty size; tty; echo $TERM\r');
    await pty.shows(/33 91/);
    await pty.shows(/\/dev\/pts/);
    await pty.shows('xterm-256color');
    pty.pty.resize(120, 40);
    // The shell learns of the new size by a signal some time later.
    pty.type('until [ "$(stty size)" = "40 120" ]; do :; done; echo changed:$((1+1))\r');
    await pty.shows('changed:2');
    // A line that is shown as it is typed does not run yet: until then the key would be for the shell.
    pty.type("sh -c 'echo up:$((3+3)); exec sleep 1000'\r");
    await pty.shows('up:6');
    pty.type('\x03');
    pty.type('echo after:$((2+2))\r');
    await pty.shows('after:4');
    pty.type('exit 9\r');
    expect(await pty.exit).toBe(9);
  });

  it('forwards ports and sockets inside, and serves SOCKS', async () => {
    const inside = await startInside(sandbox);
    const port = await freePort();
    const socks = await freePort();
    const socket = join(local.home, 'local.sock');
    await ssh(['-O', 'forward', '-L', `${port}:127.0.0.1:${inside.port}`, '-D', String(socks), host]);
    await ssh(['-O', 'forward', '-L', `${socket}:${inside.socket}`, host]);
    const big = randomBytes(3_000_000);
    expect(sha256(await echo({ port, host: '127.0.0.1' }, big))).toBe(sha256(big));
    expect(sha256(await echo({ path: socket }, big))).toBe(sha256(big));
    expect(sha256(await echo({ port: socks, host: '127.0.0.1' }, big, inside.port))).toBe(sha256(big));
    const closed = await freePort();
    await ssh(['-O', 'forward', '-L', `${closed}:127.0.0.1:1`, host]);
    const nothing = await echo({ port: closed, host: '127.0.0.1' }, Buffer.from('x')).catch(() =>
      Buffer.alloc(0),
    );
    expect(nothing).toHaveLength(0);
    expect((await ssh(['-O', 'forward', '-R', `0:127.0.0.1:${port}`, host])).code).not.toBe(0);
  });

  it('carries twenty channels at once over one connection', async () => {
    const runs = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        ssh([host, `head -c 300000 /dev/zero; echo done ${n} >&2; exit ${n}`]),
      ),
    );
    expect(runs.map(({ code }) => code)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(runs.map(({ stderr }) => stderr)).toEqual(Array.from({ length: 20 }, (_, n) => `done ${n}\n`));
    expect(new Set(runs.map(({ stdout }) => stdout.length))).toEqual(new Set([300_000]));
  });

  it('does what an editor does first: looks around, unpacks its server, starts it, and talks to it', async () => {
    const looked = await ssh(['-T', host, 'bash'], {
      stdin: 'uname -sm; echo "$HOME"; mkdir -p .editor\n',
    });
    expect(looked.stdout.toString()).toMatch(/^Linux \S+\n\//);
    const dir = join(local.home, 'editor');
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, 'server.py'), serverInPython);
    const tar = spawn('tar', ['-C', dir, '-cz', '.']);
    expect((await ssh([host, 'tar -xz -C .editor'], { stdin: tar.stdout })).code).toBe(0);
    // It continues when the session that started it has ended.
    const script =
      'cd .editor\nnohup python3 server.py > port 2>/dev/null < /dev/null &\nwhile [ ! -s port ]; do sleep 0.05; done; cat port\n';
    const started = await ssh(['-T', host, 'bash'], { stdin: script });
    const inside = Number(started.stdout.toString());
    const socks = await freePort();
    await ssh(['-O', 'forward', '-D', String(socks), host]);
    const bytes = randomBytes(100_000);
    expect(sha256(await echo({ port: socks, host: '127.0.0.1' }, bytes, inside))).toBe(sha256(bytes));
  });

  it('slows a program down whose output nobody reads, instead of keeping it', async () => {
    const pid = await proxyOf(local);
    const before = await peakMemory(pid);
    const child = spawn('ssh', [...shared(), host, 'cat /dev/zero'], {
      env: cleanEnvironment(local.env),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'readable');
    const processes = await sandbox.commands.list();
    const inside = processes.find(({ args }) => args.includes('cat /dev/zero'))!.pid;
    // Written bytes of the program do not move once everything on the way is full.
    let last = -1;
    let same = 0;
    await eventually('a program that waits', async () => {
      const { stdout } = await sandbox.commands.run(`cat /proc/${inside}/io`);
      const written = Number(/^wchar: (\d+)/m.exec(stdout)?.[1]);
      same = written === last ? same + 1 : 0;
      last = written;
      return same >= 5;
    });
    expect((await peakMemory(pid)) - before).toBeLessThan(60 * 1024);
    // It ends when its session does.
    child.kill();
    await once(child, 'exit');
    await eventually('the end of the program', async () => {
      const left = await sandbox.commands.list();
      return left.every((each) => each.pid !== inside);
    });
  });

  it('says what is wrong: no such sandbox, a wrong key, another host key, no server', async () => {
    const attempt = (args: string[], env: Record<string, string> = {}) =>
      runProgram(local, ['ssh', ...alone(), ...args], { env });
    const [missing, key, server] = await Promise.all([
      attempt(['no-such-sandbox.svc', 'true']),
      attempt([host, 'true'], { SVC_API_KEY: `svc_${'0'.repeat(40)}` }),
      attempt([host, 'true'], { SVC_API_URL: 'http://127.0.0.1:9' }),
    ]);
    for (const { code } of [missing, key, server]) expect(code).toBe(255);
    expect(missing.stderr).toContain('There is no sandbox with the id or name "no-such-sandbox"');
    expect(key.stderr).toMatch(/error: .*key/i);
    expect(server.stderr).toMatch(/error: .*127\.0\.0\.1:9/);
    const other = join(local.home, 'other-hosts');
    await writeFile(other, `svc-sandbox ssh-ed25519 ${Buffer.alloc(51, 1).toString('base64')}\n`);
    const wrong = await attempt(['-o', `UserKnownHostsFile=${other}`, host, 'true']);
    expect(wrong).toMatchObject({ code: 255, stderr: expect.stringMatching(/[Hh]ost key/) });
  });

  it('resumes a paused sandbox, and ends its sessions with a clear word when the sandbox is killed', async () => {
    const { apiKey, apiUrl, sandboxUrl } = local.server;
    const own = await new Client({ apiKey, apiUrl, sandboxUrl }).sandboxes.create({ timeoutMs: 300_000 });
    if (driver === 'linux') await own.pause({ memory: false });
    const run = runProgram(local, ['ssh', ...alone(), `${own.id}.svc`, 'echo up; sleep 1000'], {
      started: (child) => {
        child.stdout!.once('data', () => void own.kill());
      },
    });
    const { code, stdout, stderr } = await run;
    expect([code, stdout.toString()]).toEqual([255, 'up\n']);
    expect(stderr).toMatch(/the sandbox \S+ (was killed|is gone)/);
  });
});

/** The process that speaks SSH for the only open connection. */
async function proxyOf(local: LocalServer): Promise<number> {
  const { stdout } = await runProgram(local, ['pgrep', '-f', `ssh-proxy .*svc`]);
  const pids = stdout.toString().trim().split('\n').map(Number);
  for (const pid of pids) {
    const env = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    const command = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
    if (env.includes(`HOME=${local.home}`) && !command.startsWith('ssh') && !command.includes('-c\0'))
      return pid;
  }
  throw new Error(`no proxy among ${pids.join(' ')}`);
}

/** Most memory that a process has had, KiB. */
async function peakMemory(pid: number): Promise<number> {
  return Number(/^VmHWM:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Sends back what it gets, on a port, which it prints, and on a socket. It answers after the end of what it gets. */
const serverInPython = `
import socket, threading, sys, os
def serve(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()
def answer(connection):
    parts = []
    while True:
        data = connection.recv(65536)
        if not data: break
        parts.append(data)
    connection.sendall(b"".join(parts))
    connection.close()
tcp = socket.create_server(("127.0.0.1", 0))
unix = socket.socket(socket.AF_UNIX)
path = os.path.abspath("echo.sock")
if os.path.exists(path): os.unlink(path)
unix.bind(path)
unix.listen()
print(tcp.getsockname()[1], flush=True)
threading.Thread(target=serve, args=(unix,), daemon=True).start()
serve(tcp)
`;

/** Starts it in the sandbox. */
async function startInside(sandbox: Sandbox): Promise<{ port: number; socket: string }> {
  await sandbox.files.write('echo.py', serverInPython);
  const command = await sandbox.commands.start('python3 echo.py');
  for await (const event of command)
    if (event.type === 'stdout') {
      const { stdout } = await sandbox.commands.run('realpath echo.sock');
      return { port: Number(event.text), socket: stdout.trim() };
    }
  throw new Error('the server inside did not start');
}

/** Sends bytes and their end, and gives what comes back; through a SOCKS 5 server when a port behind it is named. */
async function echo(to: NetConnectOpts, bytes: Buffer, behind?: number): Promise<Buffer> {
  const socket = createConnection({ ...to, allowHalfOpen: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (behind !== undefined) {
    socket.write(Buffer.of(5, 1, 0));
    expect((await once(socket, 'data'))[0]).toEqual(Buffer.of(5, 0));
    socket.write(Buffer.of(5, 1, 0, 1, 127, 0, 0, 1, behind >> 8, behind & 255));
    expect(((await once(socket, 'data'))[0] as Buffer)[1]).toBe(0);
  }
  socket.end(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processStart } from '#support/process-identity';
import { runProcess } from '../support/run-cli.js';
import { runOf } from '../support/run-of.js';
import { openTerminal } from '../support/terminal.js';

const anyPorts = ['--port', '0', '--sandbox-port', '0', '--operator-port', '0'];
const upWithProcess = ['server', 'up', '--driver', 'process', '--kill-sandboxes-on-stop', ...anyPorts];

describe('svc server', () => {
  let home: string;
  let env: Record<string, string>;
  const svc = (args: string[], options: Parameters<typeof runProcess>[1] = {}) =>
    runProcess(args, { env, ...options });

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'svc-cli-server-'));
    env = { HOME: home, SVC_DATA_DIR: join(home, 'data') };
  });
  afterEach(async () => {
    await svc(['server', 'down', '--force']);
    await rm(home, { recursive: true, force: true });
  });

  it('goes up in the foreground, shows the key at the first start only, and ends by Ctrl+C without a rest', async () => {
    using first = openTerminal(upWithProcess, { env });
    await first.shows('Ready. Ctrl+C stops the server.', 90_000);
    const key = /export SVC_API_KEY=(svc_[0-9a-f]{40})/.exec(first.output())?.[1];
    expect(key).toBeDefined();
    expect(first.output()).toContain('NO ISOLATION');
    const credentials = join(home, 'data', 'credentials.json');
    expect(JSON.parse(await readFile(credentials, 'utf8'))).toMatchObject({ apiKey: key });
    // Neither key nor address is said: both are found.
    const made = await svc(['sandbox', 'create', '-q']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    // A command that destroys something says where.
    const id = made.stdout.trim();
    const here = expect.stringContaining(`(server of this machine, ${home}/data)`);
    for (const end of [
      ['timeout', id, '0'],
      ['kill', 'iunknown'],
    ])
      expect(await svc(['sandbox', ...end])).toMatchObject({ stderr: here });
    first.type('\x03');
    await first.shows('Stopped.', 60_000);
    expect(await first.exit).toBe(0);
    await expect(stat(join(home, 'data', 'running.json'))).rejects.toThrow('ENOENT');
    const status = await svc(['server', 'status']);
    expect(status).toMatchObject({ code: 1, stdout: '' });
    expect(status.stderr).toContain('No server runs');

    using second = openTerminal(upWithProcess, { env });
    await second.shows('Ready.', 90_000);
    expect(second.output()).not.toContain(key!);
    second.type('\x03');
    expect(await second.exit).toBe(0);
  });

  it('goes up in the background, shows its status, refuses a second one, and is stopped by down', async () => {
    const up = await svc([...upWithProcess, '--detach'], { timeoutMs: 120_000 });
    expect(up).toMatchObject({ code: 0 });
    expect(up.stdout).toMatch(/export SVC_API_KEY=svc_/);
    const log = await readFile(join(home, 'data', 'server.log'), 'utf8');
    expect(log).not.toMatch(/svc_[0-9a-f]{40}/);
    const status = JSON.parse((await svc(['server', 'status', '--json'])).stdout);
    expect(status).toMatchObject({
      driver: 'process',
      status: { state: 'running', sandboxes: { running: 0 } },
    });
    expect((await svc(['server', 'status'])).stdout).toContain('NO ISOLATION');
    const again = await svc(upWithProcess, { timeoutMs: 90_000 });
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('A server runs already');
    const down = await svc(['server', 'down']);
    expect(down.stdout).toBe(`Stopped (process ${status.pid}).\n`);
    expect(processStart(status.pid)).toBeUndefined();
    expect((await svc(['server', 'down'])).stdout).toContain('No server runs');
  });

  it('reports a failed start in the background as in the foreground', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    try {
      const { port } = blocker.address() as AddressInfo;
      const args = [
        'server',
        'up',
        '--driver',
        'process',
        '--port',
        String(port),
        '--sandbox-port',
        '0',
        '--operator-port',
        '0',
      ];
      for (const extra of [[], ['--detach']]) {
        const run = await svc([...args, ...extra], { timeoutMs: 90_000 });
        expect(run.code).toBe(1);
        expect(run.stderr).toContain(`error: Port ${port} (platform API) is taken by another program.`);
        expect(run.stderr).toContain('svc server up --port');
      }
    } finally {
      blocker.close();
    }
  });

  it('never stops a process that only has the pid of the file', async () => {
    await mkdir(join(home, 'data'));
    const run = runOf(join(home, 'data'), { processStart: 'another time' });
    await writeFile(join(home, 'data', 'running.json'), JSON.stringify(run));
    expect(await svc(['server', 'down', '--force'])).toMatchObject({
      code: 0,
      stdout: `No server runs in ${home}/data.\n`,
    });
    await expect(stat(join(home, 'data', 'running.json'))).rejects.toThrow('ENOENT');
  });

  it('says to a newcomer whose machine has no OCI runtime what to do, and starts nothing less isolated', async () => {
    const run = await svc(['server', 'up', '--oci-runtime', 'no-such-runtime', ...anyPorts], {
      timeoutMs: 90_000,
    });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toContain('error: This machine cannot run isolated sandboxes yet.');
    expect(run.stderr).toContain('The OCI runtime no-such-runtime is missing.');
    expect(run.stderr).toContain('svc server doctor --fix');
    expect(run.stderr).toContain('--driver process');
    await expect(stat(join(home, 'data', 'credentials.json'))).rejects.toThrow('ENOENT');
  });

  it('examines the machine, and changes nothing with --fix --dry-run', async () => {
    const run = await svc(['server', 'doctor', '--oci-runtime', 'no-such-runtime', '--fix', '--dry-run']);
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/^NO {2}oci-runtime .*no-such-runtime is missing/m);
    expect(run.stdout).toContain('cannot run isolated sandboxes yet');
    const record = JSON.parse((await svc(['server', 'doctor', '--json'])).stdout);
    expect(record.findings.length).toBeGreaterThan(0);
    expect(typeof record.isolated).toBe('boolean');
    const root = process.getuid?.() === 0;
    expect(record.serverUser).toMatch(root ? /^The server would run as (the user svc|root, in one)/ : /sudo/);
  });

  it('reports a data directory that cannot be used', async () => {
    await writeFile(join(home, 'file'), '');
    const run = await svc([...upWithProcess, '--data-dir', join(home, 'file', 'data')], {
      timeoutMs: 90_000,
    });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^error: /);
    expect(run.stderr).toContain('--data-dir');
  });
});

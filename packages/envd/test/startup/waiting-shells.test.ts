import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenTerminals } from '../../src/process/open-terminals.js';
import { createPipeSource } from '../../src/process/pipes.js';
import type { ProgramSpec } from '../../src/process/program.js';
import { followWithPipes, spawnShell, spawnWithPipes } from '../../src/process/spawn-pipes.js';
import { execScript } from '../../src/startup/exec-script.js';
import { WaitingShells } from '../../src/startup/waiting-shells.js';

const spec = (
  command: string,
  args: string[] = [],
  environment: Record<string, string> = {},
): ProgramSpec => ({
  command,
  args,
  environment: { PATH: '/usr/bin:/bin', ...environment },
  directory: '/usr',
  identity: undefined,
});

describe('execScript', () => {
  it.each([
    ['a variable that is no name', spec('true', [], { 'a.b': 'c' })],
    ['a variable that the shell keeps for itself', spec('true', [], { PWD: '/' })],
    ['a command that looks like an option', spec('-x')],
    ['no command', spec('')],
    ['a NUL character', spec('echo', ['a\0b'])],
    ['more than a pipe takes at once', spec('echo', ['ä'.repeat(2048)])],
  ])('cannot say %s', (_, program) => {
    expect(execScript(program)).toBeUndefined();
  });
});

const suited = realpathSync('/bin/sh').endsWith('/dash');
if (!suited) console.warn('skipped: /bin/sh is not dash, so no shell is started ahead');

describe.skipIf(!suited)('a shell that was started ahead', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'envd-shell-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const terminals = new OpenTerminals();
  const started = () => {
    const pipes = createPipeSource(folder);
    const children: number[] = [];
    const signals: (NodeJS.Signals | null)[] = [];
    let clock = 0;
    const shells = new WaitingShells({
      pipes,
      now: () => clock,
      start(identity, ends) {
        const child = spawnShell(identity, { session: true }, ends, terminals);
        children.push(child.pid!);
        child.once('exit', (_, signal) => signals.push(signal));
        return child;
      },
    });
    return {
      shells,
      children,
      signals,
      pipes,
      later: (ms: number) => {
        clock += ms;
      },
    };
  };
  const ended = (listener: () => void) => listener();
  /** Two programs in a row, then a shell. */
  const ready = async () => {
    const made = started();
    made.shells.note(undefined, ended);
    made.shells.note(undefined, ended);
    await expect.poll(() => made.children.length, { timeout: 100_000 }).toBe(1);
    return made;
  };

  interface Run {
    stdout: string;
    stderr: string;
    status: string;
    pid: number;
  }

  function run(start: (events: Parameters<typeof followWithPipes>[2]) => { pid: number }): Promise<Run> {
    return new Promise((resolve) => {
      const parts = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
      const program = start({
        output: (kind, bytes) => void parts[kind as 'stdout'].push(bytes),
        end: ({ status }) =>
          resolve({
            stdout: Buffer.concat(parts.stdout).toString(),
            stderr: Buffer.concat(parts.stderr).toString(),
            status,
            pid: program.pid,
          }),
      });
    });
  }

  /** The program as the waiting shell becomes it, and as it is started without. */
  async function both(program: ProgramSpec): Promise<{ shell: Run; direct: Run }> {
    const { shells, pipes, children } = await ready();
    const taken = shells.take(program);
    expect(taken).toBeDefined();
    const shell = await run((events) => followWithPipes(taken!, false, events));
    expect(shell.pid).toBe(children[0]);
    const ends = await pipes.take(false);
    const direct = await run((events) => spawnWithPipes(program, { session: true }, ends, terminals, events));
    return { shell, direct };
  }

  const odd = `it's "$HOME" \`id\` \\ *\n\tü€😀 \u0081\u0088 !`;
  const lines = (text: string) => text.split('\n').sort();
  it.each<[string, ProgramSpec]>([
    ['its arguments', spec('/usr/bin/printf', ['<%s>', '', odd, '-n', '--', 'a=b', '$(id)'])],
    ['its status', spec('sh', ['-c', 'echo out; echo err >&2; exit 7'])],
    ['its death', spec('sh', ['-c', 'kill -SEGV $$'])],
    ['its directory', spec('readlink', ['/proc/self/cwd'])],
    ['its empty input', spec('sh', ['-c', 'readlink /proc/self/fd/0; wc -c'])],
    ['its descriptors', spec('ls', ['/proc/self/fd'])],
    ['its signals', spec('grep', ['^Sig[BIC]', '/proc/self/status'])],
    ['its failure to be found', spec('no-such-program', ['x'])],
    ['its failure to be run', spec('/etc/passwd')],
  ])('becomes a program with %s', async (_, program) => {
    const { shell, direct } = await both(program);
    expect({ ...shell, pid: 0 }).toEqual({ ...direct, pid: 0 });
  });

  it('becomes a program with its variables and no others', async () => {
    const variables = { HOME: '/x', ODD: odd, EMPTY: '', lower_1: 'y' };
    const { shell, direct } = await both(spec('env', [], variables));
    expect(lines(shell.stdout)).toEqual(lines(direct.stdout));
    expect(shell.stdout).toContain(`ODD=${odd}\n`);
  });

  it('becomes the leader of its session under the same number', async () => {
    const { shell } = await both(spec('sh', ['-c', 'cut -d" " -f1,6 /proc/$$/stat']));
    expect(shell.stdout).toBe(`${shell.pid} ${shell.pid}\n`);
  });

  it('waits only where programs come in a row', async () => {
    const { shells, children, later } = started();
    shells.note(undefined, ended);
    later(60_000);
    shells.note(undefined, ended);
    await new Promise(setImmediate);
    expect(children).toEqual([]);
    shells.note(undefined, ended);
    await expect.poll(() => children.length, { timeout: 100_000 }).toBe(1);
    shells.close();
  });

  it('is not used for another account', async () => {
    const { shells } = await ready();
    const identity = { uid: 65_534, gid: 65_534, groups: [] };
    expect(shells.take({ ...spec('true'), identity })).toBeUndefined();
    shells.close();
  });

  it('is passed over once somebody has killed it', async () => {
    const { shells, children } = await ready();
    process.kill(children[0]!, 'SIGKILL');
    await expect
      .poll(
        () => execFileSync('sh', ['-c', `cat /proc/${children[0]}/stat 2>/dev/null || echo gone`]).toString(),
        {
          timeout: 100_000,
        },
      )
      .toMatch(/gone|\) Z /);
    expect(shells.take(spec('true'))).toBeUndefined();
  });

  it('ends by itself: in a copy that is being restored CRIU may hold it still, and killing it would end the whole copy', async () => {
    const { shells, signals } = await ready();
    shells.close();
    await expect.poll(() => signals, { timeout: 100_000 }).toEqual([null]);
  });

  it('ends when it is closed, and no other follows', async () => {
    const { shells, children } = await ready();
    shells.close();
    shells.note(undefined, ended);
    shells.note(undefined, ended);
    const gone = () => {
      try {
        return process.kill(children[0]!, 0) && false;
      } catch {
        return true;
      }
    };
    await expect.poll(gone, { timeout: 100_000 }).toBe(true);
    expect(children).toHaveLength(1);
  });
});

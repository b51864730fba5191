import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { runCli } from '../support/run-cli.js';
import { openTerminal } from '../support/terminal.js';

describe('svc sandbox shell', () => {
  let local: LocalServer;
  let id: string;

  beforeAll(async () => {
    local = await startLocalServer();
  });
  beforeEach(async () => {
    const run = await runCli(['sandbox', 'create', '-q', '--timeout', '10m'], { env: local.env });
    id = run.stdout.trim();
    expect(id).not.toBe('');
  });
  afterAll(() => local?.[Symbol.asyncDispose]());

  const open = (args: string[] = [], size = {}) =>
    openTerminal(['sandbox', 'shell', ...args, id], { env: local.env, ...size });
  /** Runs the shell under a shell of this machine, which then reports how it found the terminal. */
  const openWithin = (after: string) =>
    openTerminal({ shell: `$SVC sandbox shell ${id}; echo "code=$?"; ${after}` }, { env: local.env });

  it('passes keys, size and changes of the size on, and ends with the exit code of the shell', async () => {
    using terminal = open([], { cols: 91, rows: 27 });
    terminal.type('echo size=$(stty size | tr " " x)\r');
    await terminal.shows('size=27x91');
    terminal.pty.resize(120, 40);
    terminal.type(
      'until [ "$(stty size)" = "40 120" ]; do sleep 0.05; done; echo after=$(stty size | tr " " x)\r',
    );
    await terminal.shows('after=40x120');
    terminal.type('exit 42\r');
    expect(await terminal.exit).toBe(42);
  });

  it('gives Ctrl+C to the program in the sandbox and continues', async () => {
    using terminal = open();
    terminal.type("sh -c 'echo up:$((3+3)); exec sleep 600'\r");
    await terminal.shows('up:6');
    terminal.type('\x03');
    terminal.type('echo still-""here\r');
    await terminal.shows('still-here');
    terminal.type('\x04');
    await terminal.exit;
  });

  it('runs full-screen programs and knows the terminal', async () => {
    using terminal = open(['-e', 'WHO=me']);
    terminal.type('echo term=$TERM who=$WHO tty=$(test -t 0 && echo yes)\r');
    await terminal.shows('term=xterm-256color who=me tty=yes');
    terminal.type('exit\r');
    expect(await terminal.exit).toBe(0);
  });

  it('runs another program in the terminal', async () => {
    using terminal = openTerminal(['sandbox', 'shell', id, '--', 'sh', '-c', 'echo "tty: $(tty)"; exit 5'], {
      env: local.env,
    });
    await terminal.shows('tty: /dev/');
    expect(await terminal.exit).toBe(5);
  });

  it('sets the terminal back at the end', async () => {
    using terminal = openWithin('stty -a | grep -o "[-]*icanon\\|[-]*echo "');
    terminal.type('echo in-""side\r');
    await terminal.shows('in-side');
    terminal.type('exit 3\r');
    await terminal.shows('code=3');
    await terminal.exit;
    expect(terminal.output()).toMatch(/\sicanon\s+echo /);
  });

  it('reports that the sandbox is deleted, and sets the terminal back, full-screen mode included', async () => {
    using terminal = openWithin('stty -a | grep -o "[-]*icanon"; echo done');
    // As vim leaves the terminal: alternate screen, hidden cursor.
    terminal.type('printf "\\033[?1049h\\033[?25l"; echo full-""screen\r');
    await terminal.shows('full-screen');
    const killed = await runCli(['sandbox', 'kill', id], { env: local.env });
    expect(killed.code).toBe(0);
    await terminal.shows('error:');
    await terminal.shows('code=1');
    await terminal.exit;
    const shown = terminal.output();
    expect(shown.slice(shown.indexOf('full-screen'))).toMatch(/\x1b\[\?1049l[\s\S]*error:/);
    expect(shown).toContain('\x1b[?25h');
    expect(shown).toMatch(/\n icanon|\sicanon/);
  });

  it('sets the terminal back when it is ended by SIGTERM', async () => {
    using terminal = openWithin('stty -a | grep -o "[-]*icanon"');
    terminal.type('echo in-""side\r');
    await terminal.shows('in-side');
    const { pid } = terminal.pty;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const child = Number(children.trim().split(' ')[0]);
    // 0 would stand for every process of this test's group.
    expect(child).toBeGreaterThan(1);
    process.kill(child, 'SIGTERM');
    await terminal.shows('code=143');
    await terminal.exit;
    expect(terminal.output()).toMatch(/\sicanon/);
  });

  it('is left by ~. when nothing answers', async () => {
    using terminal = open();
    terminal.type('echo in-""side\r');
    await terminal.shows('in-side');
    terminal.type('\r~.');
    await terminal.shows('Left the shell');
    expect(await terminal.exit).toBe(1);
  });

  it('asks for a terminal where there is none', async () => {
    const run = await runCli(['sandbox', 'shell', id], { env: local.env });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('needs a terminal');
  });

  it('kills the sandbox of create --shell at the end of the shell', async () => {
    using terminal = openTerminal(['sandbox', 'create', '--shell'], { env: local.env });
    await terminal.shows(/Sandbox \w+;/);
    const made = /Sandbox (\w+);/.exec(terminal.output())![1]!;
    terminal.type('exit\r');
    await terminal.exit;
    const info = await runCli(['sandbox', 'info', made], { env: local.env });
    expect(info.code).toBe(1);
  });

  it('opens for exec -it too, with a program or a line of the shell', async () => {
    using terminal = openTerminal(['sandbox', 'exec', '-it', id, 'bash'], { env: local.env });
    terminal.type('echo tty=$(test -t 0 && echo yes); exit 7\r');
    await terminal.shows('tty=yes');
    expect(await terminal.exit).toBe(7);
    using line = openTerminal(['sandbox', 'exec', '-it', id, 'test -t 1 && echo li""ne'], { env: local.env });
    await line.shows('line');
    expect(await line.exit).toBe(0);
  });

  it('is pointed to by exec without a terminal, and by a shell that got no input', async () => {
    const without = await runCli(['sandbox', 'exec', '-it', id, 'bash'], { env: local.env });
    expect(without).toMatchObject({ code: 2 });
    expect(without.stderr).toContain('needs a terminal');
    const silent = await runCli(['sandbox', 'exec', id, 'bash'], { env: local.env });
    expect(silent).toMatchObject({ code: 0, stdout: '' });
    expect(silent.stderr).toContain(
      `bash got no input and ended. For a terminal: svc sandbox exec -it ${id} bash`,
    );
    const fed = await runCli(['sandbox', 'exec', id, 'bash'], { env: local.env, stdin: 'true\n' });
    expect(fed).toEqual({ code: 0, stdout: '', stderr: '' });
    const both = await runCli(['sandbox', 'exec', '-t', '--timeout', '5s', id, 'bash'], { env: local.env });
    expect(both.stderr).toContain('--timeout cannot be used with --tty');
  });
});

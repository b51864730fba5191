import { eventually } from '@svc/support/eventually';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ProcessNotFoundError, type PtySession, type Sandbox } from '../../src/index.js';

describeOnServer('terminals', (fixture) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(async () => {
    await sandbox?.kill();
  });

  /** Collects what a terminal shows. */
  function screen() {
    const decoder = new TextDecoder();
    let text = '';
    return {
      onData: (data: Uint8Array) => {
        text += decoder.decode(data, { stream: true });
      },
      shows: (part: string) =>
        eventually(`the terminal to show ${JSON.stringify(part)}`, () => text.includes(part)),
    };
  }

  it('runs a shell that can be typed into', async () => {
    const view = screen();
    const pty = await sandbox.pty.create({ onData: view.onData, cols: 100, rows: 30 });
    await pty.write('echo $((6 * 7))-$TERM\r');
    await view.shows('42-xterm-256color');
    await pty.write('exit 5\r');
    expect(await pty.wait()).toMatchObject({ exitCode: 5 });
  });

  it('has the size it is given, at first and later', async () => {
    const view = screen();
    await using pty = await sandbox.pty.create({ onData: view.onData, cols: 91, rows: 17 });
    await pty.write('stty size\r');
    await view.shows('17 91');
    await pty.resize({ cols: 120, rows: 44 });
    await pty.write('stty size\r');
    await view.shows('44 120');
  });

  it('passes Ctrl+C on to the program', async () => {
    const view = screen();
    await using pty = await sandbox.pty.create({ onData: view.onData });
    await pty.write("sh -c 'echo up-$((1 + 1)); exec sleep 600'\r");
    await view.shows('up-2');
    await pty.write('\x03');
    await view.shows('^C');
    await pty.write('echo status $?\r');
    await view.shows('status 130');
  });

  it('gives its output as a stream, and runs other programs', async () => {
    const pty = await sandbox.pty.create({ command: ['/bin/sh', '-c', 'echo here; tty | cut -c 1-5'] });
    const text = await new Response(pty.output).text();
    expect(text).toBe('here\r\n/dev/\r\n');
    expect(await pty.wait()).toEqual({ exitCode: 0 });
  });

  it('can be left and connected to again', async () => {
    const pty = await sandbox.pty.create({ envs: { WHO: 'me' }, cwd: '/' });
    pty.disconnect();
    await expect(pty.wait()).rejects.toMatchObject({ code: 'disconnected' });
    const view = screen();
    const again: PtySession = await sandbox.pty.connect(pty.pid, { onData: view.onData });
    await again.write('echo "$WHO in $PWD"\r');
    await view.shows('me in /');
    expect(await again.kill()).toBe(true);
    expect(await again.wait()).toMatchObject({ exitCode: -1, error: 'signal: killed' });
    expect(await again.kill()).toBe(false);
    await expect(sandbox.pty.connect(4_000_000)).rejects.toSatisfy((error) => ProcessNotFoundError.is(error));
  });
});

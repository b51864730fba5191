import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type TestDaemon } from '../test-daemon.js';
import { collect } from './collect.js';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('skipped: changing accounts needs root');

describe.skipIf(!isRoot)('accounts', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startDaemon({ multiUser: true });
  });
  afterAll(() => daemon?.stop());

  const run = (line: string, more = {}) =>
    collect(
      daemon
        .clientAs('nobody')
        .start({ process: { cmd: 'sh', args: ['-c', line], cwd: '/' }, stdin: false, ...more }),
    );

  it('runs a program as the user of the call, with no group of the daemon', async () => {
    const { stdout } = await run('id -un; id -G; grep ^Groups /proc/self/status');
    expect(stdout).toMatch(/^nobody\n\d+\nGroups:\s*\n$/);
  });

  it('lets the user reopen outputs and the terminal by name', async () => {
    expect((await run('echo a >/dev/stdout; echo b >/dev/stderr')).stderr).toBe('b\n');
    const { pty } = await run('id -un; echo named >"$(tty)"; echo own >/dev/tty', { pty: {} });
    expect(pty).toBe('nobody\r\nnamed\r\nown\r\n');
  });

  it('refuses a working directory that the user may not enter', async () => {
    const closed = collect(daemon.clientAs('nobody').start({ process: { cmd: 'true', cwd: daemon.home } }));
    await expect(closed).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});

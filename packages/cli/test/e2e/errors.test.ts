import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { runCli } from '../support/run-cli.js';

describe('failures of svc', () => {
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer();
  });
  afterAll(() => local?.[Symbol.asyncDispose]());

  it('name the way to a key when there is none', async () => {
    const run = await runCli(['sandbox', 'list'], {
      env: { HOME: local.home, SVC_DATA_DIR: `${local.home}/none` },
    });
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('error: There is no API key.');
    expect(run.stderr).toContain('svc auth login');
  });

  it('say that the key is wrong, how to see it, and the request id', async () => {
    const key = `svc_${'0'.repeat(40)}`;
    const run = await runCli(['sandbox', 'list'], { env: { ...local.env, SVC_API_KEY: key } });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^error: .*401/);
    expect(run.stderr).toMatch(/request [0-9a-f-]{36}/);
    expect(run.stderr).toContain('svc auth status');
    expect(run.stderr).not.toContain(key);
  });

  it('say that nothing answers, and how to start a server', async () => {
    const env = { ...local.env, SVC_API_URL: 'http://127.0.0.1:9', SVC_SANDBOX_URL: 'http://127.0.0.1:9' };
    const run = await runCli(['sandbox', 'list'], { env });
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('http://127.0.0.1:9');
    expect(run.stderr).toContain('svc server up');
  });

  it('are one JSON record on standard error with --json', async () => {
    const run = await runCli(['sandbox', 'info', 'nosuchsandbox', '--json'], { env: local.env });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(run.stderr)).toMatchObject({
      error: {
        code: 'sandbox_not_found',
        status: 404,
        exitCode: 1,
        requestId: expect.stringMatching(/.{8,}/),
      },
    });
  });

  it('name an unknown template', async () => {
    const run = await runCli(['sandbox', 'create', 'no-such-template'], { env: local.env });
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('svc template list');
  });

  it('end with 2 for a command line that makes no sense, and suggest what was meant', async () => {
    const unknown = await runCli(['sandbox', 'crate']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('Did you mean create?');
    expect(unknown.stderr).toContain('`svc sandbox --help`');
    expect((await runCli(['sandbox', 'list', '--nonsense'])).code).toBe(2);
    expect((await runCli(['sandbox', 'info'])).stderr).toContain(
      "missing required argument 'id'".replace('m', 'M'),
    );
    expect((await runCli(['sandbox', 'create', '-t', 'soon'])).stderr).toContain('"soon" is not a duration.');
  });

  it('advise only commands that work', async () => {
    for (const argv of [
      ['nonsense'],
      ['nonsense', 'deeper'],
      ['sandbox', 'crate'],
      ['sandbox', 'list', '--what'],
    ]) {
      const run = await runCli(argv);
      expect(run.code, argv.join(' ')).toBe(2);
      const advice = /`svc (.*--help)`/.exec(run.stderr)?.[1];
      expect(advice, run.stderr).toBeDefined();
      expect((await runCli(advice!.split(' '))).code, advice).toBe(0);
    }
  });

  it('print the help of a group without a command on standard error', async () => {
    const run = await runCli(['secret']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('Usage: svc secret');
  });

  it('hold no colours outside a terminal', async () => {
    const run = await runCli(['sandbox', 'info', 'x'], { env: { ...local.env, TERM: 'xterm-256color' } });
    expect(run.stderr).not.toContain('\u001b');
    const forced = await runCli(['sandbox', 'info', 'x'], { env: { ...local.env, FORCE_COLOR: '1' } });
    expect(forced.stderr).toContain('\u001b[31m');
    const refused = await runCli(['sandbox', 'info', 'x'], {
      env: { ...local.env, FORCE_COLOR: '1', NO_COLOR: '1' },
    });
    expect(refused.stderr).not.toContain('\u001b');
  });
});

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { type FakeInternet, startFakeInternet, WORLD } from '@svc/runtime/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runExample } from './run-example.js';

const linux = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost({}));
if (!linux) console.warn('examples of network settings: skipped, this host cannot run the linux driver');

/** With servers that play the services which the examples call. */
describe.skipIf(!linux)('examples that need network settings enforced', () => {
  let internet: FakeInternet;
  let config: string;

  beforeAll(async () => {
    internet = await startFakeInternet();
    // The server's user reads a file of it.
    chmodSync(internet.directory, 0o711);
    const trustedRoots = path.join(internet.directory, 'roots.pem');
    writeFileSync(trustedRoots, internet.ca);
    config = path.join(internet.directory, 'server.json');
    writeFileSync(config, JSON.stringify({ egress: { dns: [WORLD.resolver], trustedRoots } }));
  });
  afterAll(() => internet?.close());

  const token = 'ghp_0123456789abcdefghij';
  /** A private repository on a server of the played internet, for one test. */
  async function serveGit(): Promise<{ url: string; repository: string; seen(): string[] }> {
    const root = path.join(internet.directory, 'git');
    const repository = path.join(root, 'app.git');
    const work = path.join(internet.directory, 'work');
    const git = (...args: string[]) => execFileSync('git', args, { stdio: 'pipe' });
    git('init', '--quiet', '--bare', '--initial-branch=main', repository);
    git('init', '--quiet', '--initial-branch=main', work);
    writeFileSync(path.join(work, 'README.md'), '# App\n');
    git('-C', work, 'add', '.');
    const who = ['-c', 'user.name=Owner', '-c', 'user.email=owner@example.com'];
    git('-C', work, ...who, 'commit', '--quiet', '--message', 'Begin the app');
    git('-C', work, 'push', '--quiet', repository, 'main');
    const seenFile = path.join(internet.directory, 'git-seen');
    writeFileSync(seenFile, '');
    const { directory } = internet;
    const settings = { host: WORLD.proxy, directory, root, credentials: `x-access-token:${token}` };
    const program = fileURLToPath(new URL('git-server.mjs', import.meta.url));
    const [command, ...args] = internet.outside([process.execPath, program, JSON.stringify(settings)]);
    const child: ChildProcess = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      for (const folder of [root, work]) rmSync(folder, { recursive: true });
    });
    await once(child.stdout!, 'data');
    return {
      url: 'https://git.proxy.test/app.git',
      repository,
      seen: () => readFileSync(seenFile, 'utf8').trim().split('\n'),
    };
  }

  const run = async (name: string, env: Record<string, string>) => {
    internet.forget();
    const { code, output } = await runExample(
      internet.inside([process.execPath]),
      ['--config', config, '--driver', 'linux', `${name}.mjs`],
      env,
    );
    expect(code, output).toBe(0);
    const seen = internet.seen.filter(({ server }) => server === 'https') as unknown as {
      url: string;
      headers: Record<string, string>;
    }[];
    return { output, seen };
  };

  it('paid-api: the API gets the key, and its answer reaches a program that never had it', async () => {
    const key = 'sk-paid-0123456789';
    writeFileSync(path.join(internet.files, 'answer'), '42\n');
    const { output, seen } = await run('paid-api', {
      PAID_API_URL: 'https://api.one.test/files/answer',
      PAID_API_KEY: key,
    });
    expect(output).toContain('answer: 42\nkey in the environment: False\nelsewhere: refused');
    expect(output).not.toContain(key);
    expect(seen).toHaveLength(1);
    expect(seen[0]!.headers.authorization).toBe(`Bearer ${key}`);
  });

  it('build-from-mirror: the package comes from the mirror, with its token, and nothing else is reached', async () => {
    serveTinyPackage(internet.files);
    const { output, seen } = await run('build-from-mirror', {
      NPM_MIRROR: 'https://one.test/files/npm/',
      PACKAGE: 'tiny',
      MIRROR_TOKEN: 'token-of-the-mirror',
    });
    expect(output).toContain('installed: tiny\nelsewhere: refused\nmirror: allowOut[0] one.test');
    expect(output).toMatch(/collector\.example\.com: denied [1-9]\d* times by denyOut\[0\] 0\.0\.0\.0\/0/);
    expect(seen.map(({ url }) => url)).toEqual(['/files/npm/tiny', '/files/npm/tiny.tgz']);
    for (const { headers } of seen) expect(headers.authorization).toBe('Bearer token-of-the-mirror');
  });

  it('git-agent: clones and pushes to a private repository with a token that is not in the sandbox', async () => {
    const { url, repository } = await serveGit();
    const { output } = await run('git-agent', { GIT_URL: url, GIT_TOKEN: token });
    expect(output).toContain('cloned: Begin the app\n');
    expect(output).toMatch(/pushed: refs\/heads\/agent\/notes created [0-9a-f]{7}\n/);
    expect(output).toContain('on the server: refs/heads/agent/notes, refs/heads/main\n');
    expect(output).toContain('nothing more: nothing_to_commit\n');
    expect(output).toContain('the token is in: nowhere\n');
    expect(output).not.toContain(token);
    const pushed = execFileSync('git', ['-C', repository, 'show', 'agent/notes:NOTES.md']);
    expect(String(pushed)).toContain('Written by an agent.');
  });

  it('git credentials reach their host alone, and no file, variable or memory of the sandbox', async () => {
    const { url, seen } = await serveGit();
    const { output, seen: elsewhere } = await run('test/git-credentials', { GIT_URL: url, GIT_TOKEN: token });
    expect(output).toContain('without a credential: authentication\n');
    const rule = '[{"transform":{"headers":{"X-Of-The-User":"kept"}}}]';
    expect(output).toContain(`kept: [["0.0.0.0/0"],["git.proxy.test","other.test"],${rule}]\n`);
    expect(output).toContain(
      `added: [{"transform":{"headers":{"X-Of-The-User":"kept","Authorization":"Basic x-access-token:\${svc.secrets.git-token}"}}}]\n`,
    );
    expect(output).toContain('both: ["*.proxy.test","git.proxy.test","one.test","other.example"]\n');
    expect(output).toContain('plain git: 0\n');
    expect(output).toMatch(/another for the host: InvalidRequestError: .*sets another authorization header/);
    expect(output).toMatch(/marker in memory and files: [1-9]\d* \d+\n/);
    expect(output).toContain('token in memory and files: 0 0\n');
    expect(output).toContain('encoded in memory and files: 0 0\n');
    expect(output).toContain('placeholder inside: false\n');
    expect(output).toContain('a false remote: true\n');
    expect(output).toContain('after the secret is gone: unreachable\n');
    expect(output).not.toContain(token);
    // The server saw the credential, and the false one was asked, without it.
    expect(seen().filter((line) => line.includes('"authorization":"Basic ')).length).toBeGreaterThan(0);
    expect(elsewhere.map((request) => request.url)).toContainEqual(
      expect.stringMatching(/^\/git\/app\.git\//),
    );
    for (const { headers } of elsewhere) expect(headers.authorization).toBeUndefined();
  });
});

/** A registry of one package, as files that any web server can serve. */
function serveTinyPackage(files: string): void {
  const registry = path.join(files, 'npm');
  mkdirSync(path.join(registry, 'package'), { recursive: true });
  const manifest = { name: 'tiny', version: '1.0.0' };
  writeFileSync(path.join(registry, 'package/package.json'), JSON.stringify(manifest));
  execFileSync('tar', ['czf', 'tiny.tgz', 'package'], { cwd: registry });
  const dist = { tarball: 'https://one.test/files/npm/tiny.tgz' };
  const versions = { '1.0.0': { ...manifest, dist } };
  const document = { name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions };
  writeFileSync(path.join(registry, 'tiny'), JSON.stringify(document));
}

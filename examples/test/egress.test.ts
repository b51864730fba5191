import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime';
import { type PlayedInternet, playInternet, WORLD } from '@svc/runtime/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runExample } from './run-example.js';

const linux = process.getuid?.() === 0 && linuxDriverCanRun(await checkHost({}));
if (!linux) console.warn('examples of network settings: skipped, this host cannot run the linux driver');

/** With servers that play the services which the examples call. */
describe.skipIf(!linux)('examples that need network settings enforced', () => {
  let internet: PlayedInternet;
  let config: string;

  beforeAll(async () => {
    internet = await playInternet();
    // The server's user reads a file of it.
    chmodSync(internet.directory, 0o711);
    const trustedRoots = path.join(internet.directory, 'roots.pem');
    writeFileSync(trustedRoots, internet.ca);
    config = path.join(internet.directory, 'server.json');
    writeFileSync(config, JSON.stringify({ egress: { dns: [WORLD.resolver], trustedRoots } }));
  }, 60_000);
  afterAll(() => internet?.close());

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

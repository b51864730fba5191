import { once } from 'node:events';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { sandboxRecord } from '../support/recording-service.js';
import { runCli, runProcess } from '../support/run-cli.js';

const id = 'i0000000000000000000a';

let scratch: string;
let into: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-cp-hostile-'));
  into = join(scratch, 'into');
  await mkdir(into);
  await mkdir(join(scratch, 'outside'));
  await writeFile(join(scratch, 'outside', 'kept'), 'kept');
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

const expectNothingOutside = async () => {
  expect((await readdir(scratch)).sort()).toEqual(['into', 'outside']);
  expect(await readdir(join(scratch, 'outside'))).toEqual(['kept']);
  expect(await readFile(join(scratch, 'outside', 'kept'), 'utf8')).toBe('kept');
};

describe('a daemon that lies of the name of a file', () => {
  let service: Server;
  let entry: { name: string; path: string; mode: number };
  let env: Record<string, string>;
  beforeAll(async () => {
    service = createServer((request, response) => {
      request.resume();
      const { pathname } = new URL(request.url ?? '/', 'http://x');
      if (pathname === '/filesystem.Filesystem/Stat')
        response.setHeader('Content-Type', 'application/proto').end(statResponse(entry));
      else if (pathname === '/files') response.end('PWNED\n');
      else response.setHeader('Content-Type', 'application/json').end(JSON.stringify(sandboxRecord(id)));
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    env = { SVC_API_KEY: `svc_${'0'.repeat(40)}`, SVC_API_URL: url, SVC_SANDBOX_URL: url };
  });
  afterAll(() => {
    service?.close();
    service?.closeAllConnections();
  });
  const copy = (remote: string, local: string) =>
    runProcess(['sandbox', 'cp', `${id}:${remote}`, local], { env, cwd: into });

  it.each(['../outside/pwned', '..'])('gets nothing written for the name %j', async (name) => {
    entry = { name, path: '/home/user/f', mode: 0o644 };
    for (const local of ['./', into]) {
      const run = await copy('/home/user/f', local);
      expect(run).toMatchObject({ code: 1 });
      expect(run.stderr).toContain('which no entry can be called');
    }
    await expectNothingOutside();
    expect(await readdir(into)).toEqual([]);
  });

  it('does not choose the name: that is the one that the user wrote', async () => {
    entry = { name: '.bashrc', path: '/home/user/.bashrc', mode: 0o6777 };
    expect(await copy('/home/user/f', './')).toMatchObject({ code: 0 });
    expect(await readdir(into)).toEqual(['f']);
    expect((await lstat(join(into, 'f'))).mode & 0o7777 & ~process.umask()).toBe(0o755 & ~process.umask());
  });

  it('needs a name that the user wrote', async () => {
    entry = { name: 'f', path: '/home/user/f', mode: 0o644 };
    const run = await copy('x/..', './');
    expect(run).toMatchObject({ code: 1 });
    expect(run.stderr).toContain('Name the file: ');
    await expectNothingOutside();
    expect(await readdir(into)).toEqual([]);
  });

  it('gets nothing written through links that were put where drafts used to be', async () => {
    entry = { name: 'f', path: '/home/user/f', mode: 0o644 };
    for (let pid = 1; pid < 200; pid += 1)
      await symlink(join(scratch, 'outside', 'kept'), join(into, `f.part-${pid}`));
    await symlink(join(scratch, 'outside', 'kept'), join(into, 'f'));
    expect(await copy('f', 'f')).toMatchObject({ code: 0 });
    expect((await lstat(join(into, 'f'))).isFile()).toBe(true);
    expect(await readFile(join(into, 'f'), 'utf8')).toBe('PWNED\n');
    expect((await readdir(into)).filter((name) => !/^f(\.part-\d+)?$/.test(name))).toEqual([]);
    await expectNothingOutside();
  });

  it('is written to a device, which stays one', async () => {
    entry = { name: 'f', path: '/home/user/f', mode: 0o644 };
    await symlink('/dev/null', join(into, 'null'));
    expect(await copy('f', 'null')).toMatchObject({ code: 0 });
    expect(await readlink(join(into, 'null'))).toBe('/dev/null');
  });
});

describe('a directory of a hostile sandbox', () => {
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer();
  });
  afterAll(() => local?.[Symbol.asyncDispose]());
  const svc = (args: string[]) => runCli(args, { env: local.env });

  it('brings no set-id programs, no links that lead out and no hooks of git; --vcs takes those', async () => {
    const sandbox = (await svc(['sandbox', 'create', '-q'])).stdout.trim();
    const tree =
      'mkdir -p tree/sub tree/.git/hooks tree/wide && cd tree && ln -s ../victim up && ln -s /etc/passwd abs && ln -s sub fine && mkfifo pipe && printf s > setuid && chmod 6755 setuid && printf w > open && chmod 666 open && printf h > .git/hooks/pre-commit && chmod 7777 wide';
    expect(await svc(['sandbox', 'exec', sandbox, tree])).toMatchObject({ code: 0 });
    const run = await svc(['sandbox', 'cp', `${sandbox}:tree`, join(into, 'tree')]);
    expect(run).toMatchObject({ code: 0 });
    expect((await readdir(join(into, 'tree'))).sort()).toEqual(['fine', 'open', 'setuid', 'sub', 'wide']);
    for (const name of ['abs', 'up', 'pipe', '.git']) expect(run.stderr).toContain(`Left out "${name}": `);
    const modes = ['setuid', 'open', 'wide'].map(
      async (name) => (await lstat(join(into, 'tree', name))).mode & 0o7777,
    );
    expect(await Promise.all(modes)).toEqual([0o755, 0o644, 0o755].map((mode) => mode & ~process.umask()));
    await svc(['sandbox', 'cp', '--vcs', `${sandbox}:tree`, join(into, 'all')]);
    expect(await readdir(join(into, 'all', '.git', 'hooks'))).toEqual(['pre-commit']);
    await expectNothingOutside();
  });
});

/** filesystem.StatResponse in the wire's binary form: a file of 6 bytes. */
function statResponse({ name, path, mode }: { name: string; path: string; mode: number }): Buffer {
  const number = (value: number): number[] =>
    value < 128 ? [value] : [(value & 127) | 128, ...number(value >> 7)];
  const text = (field: number, value: string) => {
    const bytes = Buffer.from(value);
    return [(field << 3) | 2, ...number(bytes.length), ...bytes];
  };
  const info = [...text(1, name), 2 << 3, 1, ...text(3, path), 4 << 3, 6, 5 << 3, ...number(mode)];
  return Buffer.from([(1 << 3) | 2, ...number(info.length), ...info]);
}

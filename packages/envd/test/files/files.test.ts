import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../filesystem/test-daemon.js';

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startTestDaemon();
});
afterEach(() => daemon[Symbol.asyncDispose]());

const inHome = (...names: string[]) => join(daemon.home, ...names);
const identity = { 'Accept-Encoding': 'identity' };
const get = (path: string, headers: Record<string, string> = identity, method = 'GET') =>
  fetch(daemon.url({ path }), { headers, method });
const put = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  fetch(daemon.url(path === '' ? {} : { path }), {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/octet-stream', ...headers },
  });

async function expectFailure(response: Response, status: number): Promise<string> {
  const body = (await response.json()) as { code: number; message: string };
  expect(response.status, body.message).toBe(status);
  expect(body.code).toBe(status);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  return body.message;
}

/** The body as it is on the wire; fetch would decompress it. */
function rawGet(
  path: string,
  headers: Record<string, string>,
): Promise<{ headers: NodeJS.Dict<string | string[]>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    httpRequest(daemon.url({ path }), { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
      response.on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

describe('GET /files', () => {
  test('sends the bytes with their headers', async () => {
    await writeFile(inHome('ä b.txt'), 'content');
    const response = await get('ä b.txt');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toBe(
      `inline; filename="_ b.txt"; filename*=UTF-8''%C3%A4%20b.txt`,
    );
    expect(response.headers.get('vary')).toBe('Accept-Encoding');
    expect(response.headers.get('content-length')).toBe('7');
    expect(await response.text()).toBe('content');
  });

  test('sends gzip when that is accepted, unless a range is asked for', async () => {
    const content = 'a'.repeat(100_000);
    await writeFile(inHome('f'), content);
    const packed = await rawGet('f', { 'Accept-Encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.body.length).toBeLessThan(10_000);
    expect(gunzipSync(packed.body).toString()).toBe(content);
    const part = await rawGet('f', { 'Accept-Encoding': 'gzip', Range: 'bytes=0-9' });
    expect(part.headers['content-encoding']).toBeUndefined();
    expect(part.body.length).toBe(10);
    await expectFailure(await get('f', { 'Accept-Encoding': 'br, identity;q=0' }), 406);
  });

  test('sends ranges, and refuses those outside', async () => {
    await writeFile(inHome('f'), '0123456789');
    const part = await get('f', { ...identity, Range: 'bytes=2-4' });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 2-4/10',
      '234',
    ]);
    const outside = await get('f', { ...identity, Range: 'bytes=10-' });
    expect(outside.headers.get('content-range')).toBe('bytes */10');
    await expectFailure(outside, 416);
    const stale = await get('f', { ...identity, Range: 'bytes=2-4', 'If-Range': '"other"' });
    expect([stale.status, await stale.text()]).toEqual([200, '0123456789']);
  });

  test('answers 304 while nothing has changed', async () => {
    await writeFile(inHome('f'), 'x');
    const first = await get('f');
    const etag = first.headers.get('etag')!;
    expect((await get('f', { ...identity, 'If-None-Match': etag })).status).toBe(304);
    expect((await get('f', { 'If-Modified-Since': first.headers.get('last-modified')! })).status).toBe(304);
    await writeFile(inHome('f'), 'longer');
    expect((await get('f', { ...identity, 'If-None-Match': etag })).status).toBe(200);
    await expectFailure(await get('f', { ...identity, 'If-Match': etag }), 412);
  });

  test('HEAD has the headers without the body', async () => {
    await writeFile(inHome('f'), 'abc');
    const response = await get('f', identity, 'HEAD');
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      '3',
      '',
    ]);
  });

  test('sends empty files, and files that only say that they are', async () => {
    await writeFile(inHome('empty'), '');
    expect(await (await get('empty')).text()).toBe('');
    expect(await (await get('/proc/self/status')).text()).toContain('Pid:');
  });

  test('refuses what is no file', async () => {
    await mkdir(inHome('dir'));
    await symlink('loop', inHome('loop'));
    await writeFile(inHome('file'), '');
    execFileSync('mkfifo', [inHome('fifo')]);
    expect(await expectFailure(await get('no such'), 404)).toContain(inHome('no such'));
    await expectFailure(await get('dir'), 400);
    await expectFailure(await get(''), 400);
    await expectFailure(await get('/dev/null'), 400);
    await expectFailure(await get('fifo'), 400);
    await expectFailure(await get('loop'), 400);
    await expectFailure(await get('file/below'), 400);
    await expectFailure(await get('~bob/x'), 400);
    await expectFailure(await get('a\0b'), 400);
    const ghost = await fetch(daemon.url({ path: 'file', username: 'ghost' }));
    expect(await expectFailure(ghost, 401)).toContain('ghost');
    const other = await fetch(daemon.url({ path: 'file' }), { method: 'DELETE' });
    expect(other.headers.get('allow')).toBe('GET, HEAD, POST');
    await expectFailure(other, 405);
  });
});

describe('POST /files', () => {
  test('writes a body to the path, making parents', async () => {
    const content = randomBytes(3_000_000);
    const response = await put('a/b/c.bin', content);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toEqual([{ path: inHome('a/b/c.bin'), name: 'c.bin', type: 'file' }]);
    expect((await readFile(inHome('a/b/c.bin'))).equals(content)).toBe(true);
    expect((await stat(inHome('a'))).mode & 0o777).toBe(0o755);
    expect((await stat(inHome('a/b/c.bin'))).mode & 0o777).toBe(0o644);
  });

  test('replaces longer content, keeps the mode, and follows links', async () => {
    await writeFile(inHome('f'), 'a long content');
    await chmod(inHome('f'), 0o751);
    await symlink('f', inHome('l'));
    expect((await put('l', 'short')).status).toBe(200);
    expect(await readFile(inHome('f'), 'utf8')).toBe('short');
    expect((await stat(inHome('f'))).mode & 0o777).toBe(0o751);
  });

  test('decodes gzip, and refuses other encodings and broken ones', async () => {
    expect((await put('z', gzipSync('packed'), { 'Content-Encoding': 'gzip' })).status).toBe(200);
    expect(await readFile(inHome('z'), 'utf8')).toBe('packed');
    await expectFailure(await put('z', 'x', { 'Content-Encoding': 'br' }), 400);
    await expectFailure(await put('z', 'not gzip', { 'Content-Encoding': 'gzip' }), 400);
    const cut = gzipSync(randomBytes(1000)).subarray(0, 500);
    await expectFailure(await put('z', cut, { 'Content-Encoding': 'gzip' }), 400);
  });

  test('writes the parts of a form to their file names', async () => {
    const form = new FormData();
    form.append('note', 'skipped');
    form.append('file', new Blob(['one']), 'd/one.txt');
    form.append('file', new Blob(['zwei']), inHome('ü 2'));
    const response = await fetch(daemon.url({}), { method: 'POST', body: form });
    expect(await response.json()).toEqual([
      { path: inHome('d/one.txt'), name: 'one.txt', type: 'file' },
      { path: inHome('ü 2'), name: 'ü 2', type: 'file' },
    ]);
    expect(await readFile(inHome('ü 2'), 'utf8')).toBe('zwei');
  });

  test('the path of the query goes before file names, and a target may come once', async () => {
    const form = new FormData();
    form.append('file', new Blob(['x']), 'ignored');
    expect((await fetch(daemon.url({ path: 'chosen' }), { method: 'POST', body: form })).status).toBe(200);
    expect(await readdir(daemon.home)).toEqual(['chosen']);
    form.append('file', new Blob(['y']), './ignored');
    await expectFailure(await fetch(daemon.url({ path: 'chosen' }), { method: 'POST', body: form }), 400);
    await expectFailure(await fetch(daemon.url({}), { method: 'POST', body: form }), 400);
  });

  test('refuses what cannot be written', async () => {
    await mkdir(inHome('dir'));
    await writeFile(inHome('file'), 'kept');
    await expectFailure(await put('', 'x'), 400);
    await expectFailure(await put('dir', 'x'), 400);
    await expectFailure(await put('file/below', 'x'), 400);
    await expectFailure(await put('/dev/null', 'x'), 400);
    await expectFailure(await put('x'.repeat(256), 'x'), 400);
    await expectFailure(await put('t', 'x', { 'Content-Type': 'text/plain' }), 400);
    await expectFailure(await put('t', 'x', { 'Content-Type': 'multipart/form-data' }), 400);
    await expectFailure(await put('t', 'x', { 'Content-Type': 'multipart/form-data; boundary=b' }), 400);
    await expectFailure(await put('t', 'x', { 'X-Metadata-A': 'é' }), 400);
    // The answer arrives although most of the body was not wanted.
    await expectFailure(await put('dir', Buffer.alloc(20_000_000)), 400);
    expect(await readFile(inHome('file'), 'utf8')).toBe('kept');
  });

  test('answers 400 for a program that runs', async () => {
    await copyFile('/bin/sleep', inHome('program'));
    const child = spawn(inHome('program'), ['60'], { stdio: 'ignore' });
    try {
      await once(child, 'spawn');
      expect(await expectFailure(await put('program', 'x'), 400)).toContain('program that runs');
    } finally {
      child.kill();
    }
    expect(await readFile(inHome('program'))).toEqual(await readFile('/bin/sleep'));
  });

  test.skipIf(process.getuid?.() !== 0)(
    'answers 400 on a file system that is read-only (root only: mounts a tmpfs)',
    async (ctx) => {
      await mkdir(inHome('fixed'));
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', inHome('fixed')], { stdio: 'ignore' });
      } catch {
        return ctx.skip('mounting is not permitted');
      }
      try {
        for (const target of ['fixed/f', 'fixed/dir/f'])
          expect(await expectFailure(await put(target, 'x'), 400)).toContain('read-only file system');
        await writeFile(inHome('part'), 'x');
        const body = JSON.stringify({ source_paths: ['part'], destination: 'fixed/f' });
        await expectFailure(await fetch(daemon.url({}, '/files/compose'), { method: 'POST', body }), 400);
        expect(await readFile(inHome('part'), 'utf8')).toBe('x');
      } finally {
        execFileSync('umount', [inHome('fixed')]);
      }
    },
  );

  test.skipIf(process.getuid?.() !== 0)(
    'answers 507 when the disk is full (root only: mounts a tmpfs)',
    async (ctx) => {
      await mkdir(inHome('small'));
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', inHome('small')], {
          stdio: 'ignore',
        });
      } catch {
        return ctx.skip('mounting is not permitted');
      }
      try {
        await expectFailure(await put('small/f', Buffer.alloc(8_000_000)), 507);
        await writeFile(inHome('part'), Buffer.alloc(2_000_000));
        const body = JSON.stringify({ source_paths: ['part'], destination: 'small/f2' });
        await expectFailure(await fetch(daemon.url({}, '/files/compose'), { method: 'POST', body }), 507);
        expect(await readdir(inHome('small'))).toEqual(['f']);
      } finally {
        execFileSync('umount', [inHome('small')]);
      }
    },
  );

  test('keeps metadata with the file and replaces it with each upload', async (ctx) => {
    const probe = await put('probe', '', { 'X-Metadata-Probe': 'x' });
    if (!probe.ok) {
      expect(await expectFailure(probe, 400)).toContain('keeps no metadata');
      return ctx.skip('the temporary directory takes no extended attributes');
    }
    const response = await put('f', 'x', { 'X-Metadata-Color': 'light blue', 'X-Metadata-b': '' });
    expect(await response.json()).toEqual([
      { path: inHome('f'), name: 'f', type: 'file', metadata: { color: 'light blue', b: '' } },
    ]);
    const described = async () => (await daemon.client.stat({ path: 'f' })).entry!.metadata;
    expect(await described()).toEqual({ color: 'light blue', b: '' });
    await daemon.client.move({ source: 'f', destination: 'g' });
    await daemon.client.move({ source: 'g', destination: 'f' });
    await symlink('f', inHome('link'));
    await put('link', 'y', { 'X-Metadata-Color': 'red' });
    expect(await described()).toEqual({ color: 'red' });
    await put('f', 'z');
    expect(await described()).toEqual({});
  });

  test.skipIf(process.getuid?.() !== 0)('files belong to the user (root only)', async () => {
    await using real = await startTestDaemon({ accounts: true });
    const upload = (path: string, username: string) =>
      fetch(real.url({ path: join(real.home, path), username }), {
        method: 'POST',
        body: 'x',
        headers: { 'Content-Type': 'application/octet-stream' },
      });
    await upload('p/f', 'nobody');
    expect(await stat(join(real.home, 'p'))).toMatchObject({ uid: 65534, gid: 65534 });
    expect(await stat(join(real.home, 'p/f'))).toMatchObject({ uid: 65534, gid: 65534 });
    await upload('p/f', 'root');
    expect(await stat(join(real.home, 'p/f'))).toMatchObject({ uid: 0, gid: 0 });
    expect(await expectFailure(await upload('p/f', 'nobody'), 400)).toContain('permission denied');
  });
});

describe('signatures', () => {
  const TOKEN = 'the-token';
  const sign = (path: string, operation: string, username = '', expiration?: number) => {
    const text = [path, operation, username, TOKEN, ...(expiration === undefined ? [] : [expiration])].join(
      ':',
    );
    return `v1_${createHash('sha256').update(text).digest('base64').replace(/=+$/, '')}`;
  };
  beforeEach(async () => {
    await daemon.setToken(TOKEN);
    await writeFile(inHome('f'), 'secret');
  });
  const read = (query: Record<string, string>, token?: string) =>
    fetch(daemon.url({ path: 'f', ...query }), {
      headers: token === undefined ? {} : { 'X-Access-Token': token },
    });

  test('a token or a signature opens a file', async () => {
    expect((await read({}, TOKEN)).status).toBe(200);
    expect((await read({ signature: sign('f', 'read') })).status).toBe(200);
    expect((await read({ username: 'root', signature: sign('f', 'read', 'root') })).status).toBe(200);
    const write = await fetch(daemon.url({ path: 'f', signature: sign('f', 'write') }), {
      method: 'POST',
      body: 'new',
      headers: { 'Content-Type': 'application/octet-stream' },
    });
    expect(write.status).toBe(200);
  });

  test('a signature is for one path, operation, user and time', async () => {
    const now = Math.floor(Date.now() / 1000);
    expect(await expectFailure(await read({}), 401)).toContain('missing');
    await expectFailure(await read({ signature: sign('g', 'read') }), 401);
    await expectFailure(await read({ signature: sign('f', 'write') }), 401);
    await expectFailure(await read({ username: 'root', signature: sign('f', 'read') }), 401);
    await expectFailure(await read({ signature: `${sign('f', 'read')}=` }), 401);
    const withTime = (at: number) => ({
      signature: sign('f', 'read', '', at),
      signature_expiration: String(at),
    });
    expect((await read(withTime(now + 600))).status).toBe(200);
    expect(await expectFailure(await read(withTime(now - 1)), 401)).toContain('expired');
    await expectFailure(await read({ ...withTime(now - 1), signature_expiration: String(now + 600) }), 401);
    await expectFailure(await read({ signature: sign('f', 'read'), signature_expiration: 'soon' }), 400);
  });

  test('a wrong token is refused although the signature is right', async () => {
    await expectFailure(await read({ signature: sign('f', 'read') }, 'wrong'), 401);
  });
});

describe('POST /files/compose', () => {
  const compose = (body: unknown) =>
    fetch(daemon.url({}, '/files/compose'), { method: 'POST', body: JSON.stringify(body) });

  test('joins files in order and deletes them', async () => {
    for (const name of ['1', '2', '3']) await writeFile(inHome(name), `part ${name}\n`);
    const response = await compose({ source_paths: ['2', '1', inHome('3')], destination: 'out/all' });
    expect(await response.json()).toEqual({ path: inHome('out/all'), name: 'all', type: 'file' });
    expect(await readFile(inHome('out/all'), 'utf8')).toBe('part 2\npart 1\npart 3\n');
    expect(await readdir(daemon.home)).toEqual(['out']);
    expect(await readdir(inHome('out'))).toEqual(['all']);
  });

  test('refuses without changing anything', async () => {
    await writeFile(inHome('a'), 'a');
    await writeFile(inHome('b'), 'b');
    await mkdir(inHome('dir'));
    const destination = 'out';
    await expectFailure(await compose({ source_paths: [], destination }), 400);
    await expectFailure(await compose({ source_paths: ['a', './a'], destination }), 400);
    await expectFailure(await compose({ source_paths: ['a', 'b'], destination: 'b' }), 400);
    await expectFailure(await compose({ source_paths: ['a', 'dir'], destination }), 400);
    await expectFailure(await compose({ source_paths: ['a'], destination: 'dir' }), 400);
    await expectFailure(await compose({ source_paths: ['a'] }), 400);
    await expectFailure(await compose('text'), 400);
    expect(await expectFailure(await compose({ source_paths: ['a', 'gone'], destination }), 404)).toContain(
      'gone',
    );
    await expectFailure(await compose({ source_paths: ['a'], destination, username: 'ghost' }), 401);
    expect(await readdir(daemon.home)).toEqual(['a', 'b', 'dir']);
  });
});

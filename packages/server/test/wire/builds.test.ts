import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secondTeam } from '../support/second-team.js';
import { startTestServer, type TestServer } from '../support/server.js';
import {
  build,
  type Created,
  createTemplate,
  ended,
  sha256,
  start,
  status,
  type TarFile,
  tarGzOf,
} from '../support/templates.js';

let test: TestServer;
let other: Record<string, string>;
beforeAll(async () => {
  test = await startTestServer({ tuning: { uploadLimitBytes: 200_000, maxConcurrentBuilds: 1 } });
  other = (await secondTeam(test, 'other')).headers;
});
afterAll(() => test[Symbol.asyncDispose]());

const UUID = '00000000-0000-4000-8000-000000000000';
const path = (created: Created) => `/v2/templates/${created.templateID}/builds/${created.buildID}`;

describe('startTemplateBuild', () => {
  it('answers 202 without a body, and 400 the second time', async () => {
    const created = await createTemplate(test, { name: 'twice' });
    const started = await start(test, created, { fromTemplate: 'base' });
    expect(started).toMatchObject({ status: 202, body: undefined });
    expect((await start(test, created, { fromTemplate: 'base' })).status).toBe(400);
    expect((await ended(test, created)).status).toBe('ready');
    expect((await start(test, created, { fromTemplate: 'base' })).status).toBe(400);
    const { builds } = (await test.api('GET', '/templates/twice')).body;
    expect(builds[0]).toMatchObject({
      status: 'ready',
      finishedAt: expect.any(String),
      envdVersion: expect.stringMatching(/^\d/),
    });
  });

  it.each([
    ['no base', {}],
    ['an empty base', { fromImage: '', fromTemplate: ' ' }],
    ['two bases', { fromImage: 'debian', fromTemplate: 'base' }],
    ['steps that are none', { fromTemplate: 'base', steps: [{}] }],
    ['a registry of no kind', { fromImage: 'debian', fromImageRegistry: { type: 'moon' } }],
    ['a malformed template', { fromTemplate: 'a b' }],
  ])('refuses %s with 400 and leaves the build waiting', async (_what, body) => {
    const created = await createTemplate(test, { name: 'refused' });
    expect((await start(test, created, body)).status).toBe(400);
    expect((await status(test, created)).body.status).toBe('waiting');
  });

  it('answers 404, 403 and 400 for builds that are not there, not ours, not an id', async () => {
    const created = await createTemplate(test, { name: 'whose' });
    const body = { fromTemplate: 'base' };
    expect((await start(test, { ...created, templateID: 'nowhere' }, body)).status).toBe(404);
    expect((await start(test, { ...created, buildID: UUID }, body)).status).toBe(404);
    expect((await start(test, { ...created, buildID: 'x' }, body)).status).toBe(400);
    expect((await test.api('POST', path(created), body, other)).status).toBe(404);
    expect((await start(test, created, { fromTemplate: 'unknown' })).status).toBe(404);
    expect((await start(test, created, { fromTemplate: 'base:unknown' })).status).toBe(404);
    const foreign = await test.api('POST', '/v3/templates', { name: 'theirs' }, other);
    expect((await start(test, { ...created, buildID: foreign.body.buildID }, body)).status).toBe(404);
  });

  it('lets a build wait for a free place, and ends it there when it is superseded', async () => {
    const long = await createTemplate(test, { name: 'long' });
    await start(test, long, { fromTemplate: 'base', steps: [{ type: 'RUN', args: ['sleep 1000'] }] });
    const waiting = await createTemplate(test, { name: 'behind' });
    await start(test, waiting, { fromTemplate: 'base' });
    expect((await status(test, waiting)).body).toMatchObject({ status: 'building' });
    const newer = await createTemplate(test, { name: 'behind' });
    await start(test, newer, { fromTemplate: 'base' });
    expect((await ended(test, waiting)).status).toBe('error');
    expect((await status(test, newer)).body.status).toBe('building');
    await test.api('DELETE', '/templates/long');
    expect((await ended(test, newer)).status).toBe('ready');
  });
});

describe('status and logs of a build', () => {
  let made: Created;
  beforeAll(async () => {
    made = await build(test, 'chatty', {
      steps: [{ type: 'RUN', args: ['for i in 1 2 3; do echo out $i; done; echo err >&2'] }],
    });
  });

  it('gives entries from an offset that counts after the level filter', async () => {
    const all = (await status(test, made)).body;
    expect(all).toMatchObject({
      logs: [],
      status: 'ready',
      templateID: made.templateID,
      buildID: made.buildID,
    });
    expect(all.reason).toBeUndefined();
    expect(all.logEntries[0]).toMatchObject({ step: 'base', level: 'info', timestamp: expect.any(String) });
    expect(all.logEntries.at(-1)).toMatchObject({ step: 'finalize' });
    expect((await status(test, made, '?logsOffset=2&limit=3')).body.logEntries).toEqual(
      all.logEntries.slice(2, 5),
    );
    expect((await status(test, made, '?level=warn')).body.logEntries).toMatchObject([
      { message: 'err', level: 'warn', step: '1' },
    ]);
    expect((await status(test, made, '?level=warn&logsOffset=1')).body.logEntries).toEqual([]);
    expect((await status(test, made, '?limit=0')).body.logEntries).toEqual([]);
  });

  it('gives logs by time in both directions, and none that are temporary after the end', async () => {
    const logs = async (query = '') =>
      (await test.api('GET', `/templates/${made.templateID}/builds/${made.buildID}/logs${query}`)).body.logs;
    const all = await logs();
    expect(all.map((entry: { message: string }) => entry.message)).toEqual(
      expect.arrayContaining(['out 1', 'out 2', 'out 3', 'err']),
    );
    expect(await logs('?direction=backward')).toEqual([...all].reverse());
    expect(await logs('?source=persistent')).toEqual(all);
    expect(await logs('?source=temporary')).toEqual([]);
    expect(await logs('?limit=2')).toEqual(all.slice(0, 2));
    expect(await logs('?level=error')).toEqual([]);
    const last = Date.parse(all.at(-1).timestamp);
    expect(await logs(`?cursor=${last + 1}`)).toEqual([]);
    expect(await logs(`?cursor=${last + 1}&direction=backward`)).toHaveLength(all.length);
  });

  it('are empty while the build waits', async () => {
    const created = await createTemplate(test, { name: 'silent' });
    expect((await status(test, created)).body).toEqual({
      logs: [],
      logEntries: [],
      templateID: created.templateID,
      buildID: created.buildID,
      status: 'waiting',
    });
    const { body } = await test.api('GET', `/templates/silent/builds/${created.buildID}/logs`);
    expect(body).toEqual({ logs: [] });
  });

  it.each(['status', 'logs'])('%s answer 400, 403 and 404', async (what) => {
    const read = (template: string, id: string, headers?: Record<string, string>) =>
      test.api('GET', `/templates/${template}/builds/${id}/${what}`, undefined, headers);
    expect((await read(made.templateID, 'x')).status).toBe(400);
    expect((await read(made.templateID, UUID)).status).toBe(404);
    expect((await read('nowhere', UUID)).status).toBe(404);
    expect((await read(made.templateID, made.buildID, other)).status).toBe(404);
    expect((await read(made.templateID, `${made.buildID}`)).status).toBe(200);
    expect((await test.api('GET', `/templates/chatty/builds/${made.buildID}/${what}?limit=101`)).status).toBe(
      400,
    );
    expect(
      (await test.api('GET', `/templates/chatty/builds/${made.buildID}/${what}?level=loud`)).status,
    ).toBe(400);
  });
});

describe('files of COPY steps', () => {
  const put = (url: string, body: Buffer | undefined) =>
    fetch(url, { method: 'PUT', ...(body === undefined ? {} : { body: new Uint8Array(body) }) });
  const link = async (hash: string) => {
    await createTemplate(test, { name: 'files' });
    return test.api('GET', `/templates/files/files/${hash}`);
  };

  it('are present once they were uploaded', async () => {
    const archive = await tarGzOf([{ name: 'a/b', content: 'b' }]);
    const hash = sha256(archive);
    const first = await link(hash);
    expect(first).toMatchObject({
      status: 201,
      body: { present: false, url: expect.stringContaining('http') },
    });
    expect((await put(first.body.url, archive)).status).toBe(204);
    expect((await link(hash)).body).toEqual({ present: true });
    expect((await put(first.body.url, archive)).status).toBe(204);
  });

  it.each([
    ['an upper-case hash', 'A'.repeat(64)],
    ['a short hash', 'a'.repeat(63)],
  ])('have no link for %s', async (_what, hash) => {
    expect((await link(hash)).status).toBe(400);
  });

  it('have no link for templates that are unknown or foreign, nor for the service own', async () => {
    const hash = 'a'.repeat(64);
    expect((await test.api('GET', `/templates/nowhere/files/${hash}`)).status).toBe(404);
    await createTemplate(test, { name: 'files' });
    expect((await test.api('GET', `/templates/default%2Ffiles/files/${hash}`, undefined, other)).status).toBe(
      404,
    );
    expect((await test.api('GET', `/templates/base/files/${hash}`)).status).toBe(403);
  });

  const bad: [string, TarFile[]][] = [
    ['an absolute name', [{ name: '/etc/passwd', content: 'x' }]],
    ['a name that climbs out', [{ name: 'a/../../b', content: 'x' }]],
    ['a device', [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }]],
    ['a pipe', [{ name: 'pipe', type: 'fifo' }]],
    ['a hard link out', [{ name: 'a', type: 'link', linkname: '/etc/passwd' }]],
    ['a hard link to nothing', [{ name: 'a', type: 'link', linkname: 'b' }]],
    [
      'a file behind a link',
      [
        { name: 'a', type: 'symlink', linkname: '/etc' },
        { name: 'a/passwd', content: 'x' },
      ],
    ],
  ];
  it.each(bad)('are refused with 400 when the archive has %s', async (_what, entries) => {
    const hash = sha256(JSON.stringify(entries));
    const { body } = await link(hash);
    const answer = await put(body.url, await tarGzOf(entries));
    expect(answer.status).toBe(400);
    expect((await answer.json()) as unknown).toMatchObject({ message: expect.stringContaining('archive') });
    expect((await link(hash)).body.present).toBe(false);
  });

  it.each([
    ['nothing', undefined],
    ['no gzip', Buffer.from('hello')],
    ['gzip of something else', gzipSync(randomBytes(2_000))],
    ['gzip of nothing', gzipSync(Buffer.alloc(0))],
  ])('are refused with 400 when the body is %s', async (what, body) => {
    const answer = await put((await link(sha256(what))).body.url, body);
    expect(answer.status).toBe(400);
  });

  it('are refused with 400 when the archive ends early', async () => {
    const whole = await tarGzOf([{ name: 'a', content: randomBytes(9_000).toString('hex') }]);
    const answer = await put((await link(sha256('cut'))).body.url, whole.subarray(0, whole.length / 2));
    expect(answer.status).toBe(400);
  });

  it('are refused with 413 beyond the limit, and when they unpack to far too much', async () => {
    const large = await tarGzOf([{ name: 'a', content: randomBytes(300_000) }]);
    expect((await put((await link(sha256('large'))).body.url, large)).status).toBe(413);
    // Expansion is only suspicious from 64 MiB on.
    const bomb = await tarGzOf([{ name: 'a', content: Buffer.alloc(80_000_000) }]);
    expect((await put((await link(sha256('bomb'))).body.url, bomb)).status).toBe(400);
  });

  it('need a link that is neither forged nor expired', async () => {
    const archive = await tarGzOf([{ name: 'a', content: 'a' }]);
    const { url } = (await link(sha256('expiring'))).body;
    expect((await put(`${url.slice(0, -1)}${url.endsWith('0') ? '1' : '0'}`, archive)).status).toBe(403);
    expect((await put(`${test.server.apiUrl}/templates/uploads/x`, archive)).status).toBe(403);
    test.advance(3_600_001);
    expect((await put(url, archive)).status).toBe(403);
  });

  it('answer 404 when the template was deleted', async () => {
    const archive = await tarGzOf([{ name: 'a', content: 'a' }]);
    const { url } = (await link(sha256('gone'))).body;
    await test.api('DELETE', '/templates/files');
    expect((await put(url, archive)).status).toBe(404);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secondTeam } from '../support/second-team.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { build, createTemplate, start, status } from '../support/templates.js';

let test: TestServer;
let other: Record<string, string>;
beforeAll(async () => {
  test = await startTestServer();
  other = (await secondTeam(test, 'other')).headers;
});
afterAll(() => test[Symbol.asyncDispose]());

const UUID = '00000000-0000-4000-8000-000000000000';

describe('createTemplate', () => {
  it('answers with the new build and its names', async () => {
    const answer = await test.api('POST', '/v3/templates', { name: ' Fresh:V1 ', tags: ['Stable', 'v1'] });
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({
      templateID: expect.stringMatching(/^[a-z0-9]{20}$/),
      buildID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      public: false,
      names: ['default/fresh'],
      tags: ['v1', 'stable'],
      aliases: ['fresh'],
    });
    const again = await test.api('POST', '/v3/templates', { alias: 'default/fresh' });
    expect(again.body).toMatchObject({ templateID: answer.body.templateID, tags: ['default'] });
    expect(again.body.buildID).not.toBe(answer.body.buildID);
    const read = await test.api('GET', '/templates/fresh');
    expect(read.body.builds).toHaveLength(2);
    expect(read.body.builds[0]).toMatchObject({
      status: 'waiting',
      cpuCount: 2,
      memoryMB: 1024,
      diskSizeMB: 10240,
    });
  });

  it.each([
    ['no name', {}],
    ['an empty name', { name: ' ' }],
    ['a bad name', { name: 'no spaces' }],
    ['a name of 129 characters', { name: 'a'.repeat(129) }],
    ['a foreign namespace', { name: 'other/mine' }],
    ['a tag that is a UUID', { name: `n:${UUID}` }],
    ['a bad tag', { name: 'n', tags: ['a b'] }],
    ['3 cores', { name: 'n', cpuCount: 3 }],
    ['more cores than the team has', { name: 'n', cpuCount: 10 }],
    ['33 cores', { name: 'n', cpuCount: 33 }],
    ['odd memory', { name: 'n', memoryMB: 129 }],
    ['too little memory', { name: 'n', memoryMB: 126 }],
    ['more memory than the team has', { name: 'n', memoryMB: 8194 }],
    ['too much disk', { name: 'n', minFreeDiskMb: 30000 }],
  ])('refuses %s with 400', async (_what, body) => {
    expect((await test.api('POST', '/v3/templates', body)).status).toBe(400);
  });

  it('answers 401 without a key', async () => {
    expect((await test.api('POST', '/v3/templates', { name: 'n' }, { 'X-API-Key': '' })).status).toBe(401);
  });

  it('refuses a name that is the id of a template with 409, the name of the service own with 403', async () => {
    const { templateID } = await createTemplate(test, { name: 'idtaken' });
    expect((await test.api('POST', '/v3/templates', { name: templateID })).status).toBe(409);
    expect((await test.api('POST', '/v3/templates', { name: 'base' })).status).toBe(403);
    expect((await test.api('POST', '/v3/templates', { name: 'base' }, other)).status).toBe(202);
  });

  it('gives each of several simultaneous requests for one new name an answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => test.api('POST', '/v3/templates', { name: 'contested' })),
    );
    expect(answers.filter(({ status: code }) => code === 202).length).toBeGreaterThan(0);
    expect(answers.every(({ status: code }) => code === 202 || code === 409)).toBe(true);
    const ids = new Set(answers.flatMap(({ body }) => body.templateID ?? []));
    expect(ids.size).toBe(1);
  });

  it('marks earlier waiting builds of the same tag as superseded, others not', async () => {
    const first = await createTemplate(test, { name: 'waits:a' });
    const second = await createTemplate(test, { name: 'waits:b' });
    await createTemplate(test, { name: 'waits:a' });
    expect((await status(test, first)).body).toMatchObject({
      status: 'error',
      reason: { message: expect.stringContaining('superseded') },
    });
    expect((await status(test, second)).body.status).toBe('waiting');
  });

  it('limits the builds that a team has under way with 429 and no Retry-After', async () => {
    const small = await secondTeam(test, 'small', { maxConcurrentBuilds: 2 });
    const make = (name: string) => test.api('POST', '/v3/templates', { name }, small.headers);
    expect((await make('one')).status).toBe(202);
    expect((await make('two')).status).toBe(202);
    const refused = await make('three');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('Retry-After')).toBeNull();
    // Superseding one does not need a further place.
    expect((await make('two')).status).toBe(202);
  });
});

describe('reading templates', () => {
  it('lists the templates of the team alone, with the newest build, in pages', async () => {
    const lister = (await secondTeam(test, 'lister')).headers;
    const made: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { body } = await test.api('POST', '/v3/templates', { name, memoryMB: 512 }, lister);
      made.unshift(body.templateID);
      test.advance(5);
    }
    const newest = await test.api('POST', '/v3/templates', { name: 'a', cpuCount: 4 }, lister);
    const all = await test.api('GET', '/templates', undefined, lister);
    expect(all.headers.get('Deprecation')).not.toBeNull();
    expect(all.body.map((item: { templateID: string }) => item.templateID)).toEqual(made);
    expect(all.body[2]).toMatchObject({
      buildID: newest.body.buildID,
      cpuCount: 4,
      buildCount: 2,
      spawnCount: 0,
      lastSpawnedAt: null,
      createdBy: null,
      names: ['lister/a'],
      buildStatus: 'waiting',
    });
    const first = await test.api('GET', '/v2/templates?limit=2', undefined, lister);
    expect(first.body).toHaveLength(2);
    const token = first.headers.get('X-Next-Token');
    const rest = await test.api('GET', `/v2/templates?limit=2&nextToken=${token}`, undefined, lister);
    expect(rest.body.map((item: { templateID: string }) => item.templateID)).toEqual(made.slice(2));
    expect(rest.headers.get('X-Next-Token')).toBeNull();
    expect((await test.api('GET', '/v2/templates?nextToken=xx', undefined, lister)).status).toBe(400);
    expect((await test.api('GET', '/v2/templates?limit=101', undefined, lister)).status).toBe(400);
  });

  it('shows a template with pages of its builds, by id or name', async () => {
    const { templateID } = await createTemplate(test, { name: 'pages' });
    test.advance(5);
    const { buildID } = await createTemplate(test, { name: 'pages' });
    const first = await test.api('GET', '/templates/default%2Fpages?limit=1');
    expect(first.body).toMatchObject({
      templateID,
      public: false,
      aliases: ['pages'],
      builds: [{ buildID }],
    });
    const next = await test.api(
      'GET',
      `/templates/${templateID}?limit=1&nextToken=${first.headers.get('X-Next-Token')}`,
    );
    expect(next.body.builds).toHaveLength(1);
    expect(next.body.builds[0].buildID).not.toBe(buildID);
    expect(next.headers.get('X-Next-Token')).toBeNull();
    expect((await test.api('GET', `/templates/${templateID}?nextToken=%25`)).status).toBe(400);
    expect((await test.api('GET', `/templates/${templateID}?limit=0`)).status).toBe(400);
    expect((await test.api('GET', '/templates/nowhere')).status).toBe(404);
    expect((await test.api('GET', `/templates/${templateID}`, undefined, other)).status).toBe(404);
  });

  it('looks up names: own, free, foreign, malformed, with a tag', async () => {
    const { templateID } = await createTemplate(test, { name: 'named:v2' });
    const alias = (text: string, headers?: Record<string, string>) =>
      test.api('GET', `/templates/aliases/${encodeURIComponent(text)}`, undefined, headers);
    expect((await alias('NAMED')).body).toEqual({ templateID, public: false });
    expect((await alias('default/named:v2')).status).toBe(200);
    expect((await alias('named:v3')).status).toBe(404);
    expect((await alias('free')).status).toBe(404);
    expect((await alias('default/named', other)).status).toBe(404);
    expect((await alias('a/b/c')).status).toBe(400);
  });
});

describe('updateTemplate', () => {
  it('publishes without promoting by v2, and says the names', async () => {
    const { templateID } = await build(test, 'open', {});
    const answer = await test.api('PATCH', `/v2/templates/${templateID}`, { public: true });
    expect(answer).toMatchObject({ status: 200, body: { names: ['default/open'] } });
    expect((await test.api('PATCH', '/v2/templates/open', {})).status).toBe(200);
    expect((await test.api('GET', '/templates/open')).body.public).toBe(true);
    const spawn = (name: string) => test.api('POST', '/v2/sandboxes', { templateID: name }, other);
    expect((await spawn('open')).status).toBe(404);
    expect((await spawn('default/open')).status).toBe(201);
    await test.api('PATCH', '/v2/templates/open', { public: false });
    expect((await spawn('default/open')).status).toBe(404);
  });

  it('claims the bare name for everybody by v1, once', async () => {
    await build(test, 'popular', {});
    const answer = await test.api('PATCH', '/templates/popular', { public: true });
    expect(answer).toMatchObject({ status: 200, body: {} });
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 'popular' }, other)).status).toBe(201);
    await test.api('POST', '/v3/templates', { name: 'popular' }, other);
    expect((await test.api('PATCH', '/templates/popular', { public: true }, other)).status).toBe(409);
    expect((await test.api('GET', '/templates/aliases/popular', undefined, other)).body.public).toBe(false);
  });

  it('is refused for what is unknown, foreign, or the service own', async () => {
    await createTemplate(test, { name: 'private' });
    for (const route of ['/templates', '/v2/templates']) {
      expect((await test.api('PATCH', `${route}/nowhere`, { public: true })).status).toBe(404);
      expect((await test.api('PATCH', `${route}/default%2Fprivate`, { public: true }, other)).status).toBe(
        404,
      );
      expect((await test.api('PATCH', `${route}/base`, { public: false })).status).toBe(403);
      expect((await test.api('PATCH', `${route}/private`, { public: 'yes' })).status).toBe(400);
    }
  });
});

describe('deleteTemplate', () => {
  it('refuses while sandboxes stand on it, then removes everything', async () => {
    const made = await build(test, 'doomed', { steps: [{ type: 'RUN', args: ['echo x > x'] }] });
    const sandbox = await test.api('POST', '/v2/sandboxes', { templateID: 'doomed' });
    expect((await test.api('GET', '/v2/templates')).body).toContainEqual(
      expect.objectContaining({
        templateID: made.templateID,
        spawnCount: 1,
        lastSpawnedAt: expect.any(String),
      }),
    );
    expect((await test.api('DELETE', '/templates/doomed')).status).toBe(400);
    await test.api('POST', `/sandboxes/${sandbox.body.sandboxID}/pause`, { memory: false });
    expect((await test.api('DELETE', '/templates/doomed')).status).toBe(400);
    await test.api('DELETE', `/sandboxes/${sandbox.body.sandboxID}`);
    expect((await test.api('DELETE', `/templates/${made.templateID}`)).status).toBe(204);
    expect((await test.api('GET', '/templates/doomed')).status).toBe(404);
    expect((await status(test, made)).status).toBe(404);
    const { db } = test.server.context;
    expect(
      await db.selectFrom('build_logs').select('seq').where('build_id', '=', made.buildID).execute(),
    ).toEqual([]);
  });

  it('ends its builds', async () => {
    const created = await createTemplate(test, { name: 'halfway' });
    await start(test, created, { fromTemplate: 'base', steps: [{ type: 'RUN', args: ['sleep 1000'] }] });
    expect((await test.api('DELETE', '/templates/halfway')).status).toBe(204);
    expect(test.server.context.builds.size).toBe(0);
    expect(await test.server.driver.list()).not.toContainEqual(
      expect.objectContaining({ labels: expect.objectContaining({ buildId: created.buildID }) }),
    );
  });

  it('is refused for what is unknown, foreign, or the service own', async () => {
    await createTemplate(test, { name: 'stays' });
    expect((await test.api('DELETE', '/templates/nowhere')).status).toBe(404);
    expect((await test.api('DELETE', '/templates/default%2Fstays', undefined, other)).status).toBe(404);
    expect((await test.api('DELETE', '/templates/base')).status).toBe(403);
    expect((await test.api('DELETE', '/templates/a%20b')).status).toBe(400);
  });
});

describe('tags of templates', () => {
  it('are assigned, move, are listed and removed', async () => {
    const one = await build(test, 'tagged', {});
    const assigned = await test.api('POST', '/templates/tags', {
      target: 'tagged',
      tags: ['V1', 'v1', 'prod'],
    });
    expect(assigned).toMatchObject({ status: 201, body: { tags: ['v1', 'prod'], buildID: one.buildID } });
    const two = await build(test, 'tagged', {});
    await test.api('POST', '/templates/tags', { target: 'default/tagged', tags: ['prod'] });
    const tags = async () =>
      Object.fromEntries(
        (await test.api('GET', '/templates/tagged/tags')).body.map(
          (row: { tag: string; buildID: string }) => [row.tag, row.buildID],
        ),
      );
    expect(await tags()).toEqual({ default: two.buildID, v1: one.buildID, prod: two.buildID });
    await test.api('POST', '/templates/tags', { target: 'tagged:v1', tags: ['prod'] });
    expect((await tags()).prod).toBe(one.buildID);
    const spawned = await test.api('POST', '/v2/sandboxes', { templateID: 'tagged:prod' });
    expect(spawned.status).toBe(201);
    expect(
      (await test.api('DELETE', '/templates/tags', { name: 'tagged', tags: ['prod', 'never'] })).status,
    ).toBe(204);
    expect(await tags()).toEqual({ default: two.buildID, v1: one.buildID });
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 'tagged:prod' })).status).toBe(404);
  });

  it('let sandboxes use the last ready build while a new one is made', async () => {
    const ready = await build(test, 'rolling', {});
    await createTemplate(test, { name: 'rolling' });
    const sandbox = await test.api('POST', '/v2/sandboxes', { templateID: 'rolling' });
    expect(sandbox.status).toBe(201);
    const row = await test.server.context.db
      .selectFrom('sandboxes')
      .select('build_id')
      .where('id', '=', sandbox.body.sandboxID)
      .executeTakeFirstOrThrow();
    expect(row.build_id).toBe(ready.buildID);
  });

  it.each([
    ['no tags', { target: 'errs', tags: [] }, 400],
    ['a bad tag', { target: 'errs', tags: ['a/b'] }, 400],
    ['a bad target', { target: 'a b', tags: ['x'] }, 400],
    ['an unknown template', { target: 'nowhere', tags: ['x'] }, 404],
    ['an unknown tag', { target: 'errs:nope', tags: ['x'] }, 404],
    ['the service own', { target: 'base', tags: ['x'] }, 403],
  ])('are not assigned for %s', async (_what, body, code) => {
    await createTemplate(test, { name: 'errs' });
    expect((await test.api('POST', '/templates/tags', body)).status).toBe(code);
  });

  it.each([
    ['a name with a tag', { name: 'errs:x', tags: ['x'] }, 400],
    ['the tag default', { name: 'errs', tags: ['default'] }, 400],
    ['no tags', { name: 'errs', tags: [] }, 400],
    ['an unknown template', { name: 'nowhere', tags: ['x'] }, 404],
  ])('are not removed for %s', async (_what, body, code) => {
    await createTemplate(test, { name: 'errs' });
    expect((await test.api('DELETE', '/templates/tags', body)).status).toBe(code);
  });

  it('are closed to other teams', async () => {
    await createTemplate(test, { name: 'closed' });
    const target = 'default/closed';
    expect((await test.api('POST', '/templates/tags', { target, tags: ['x'] }, other)).status).toBe(404);
    expect((await test.api('DELETE', '/templates/tags', { name: target, tags: ['x'] }, other)).status).toBe(
      404,
    );
    expect((await test.api('GET', '/templates/default%2Fclosed/tags', undefined, other)).status).toBe(404);
    expect((await test.api('GET', '/templates/nowhere/tags')).status).toBe(404);
  });
});

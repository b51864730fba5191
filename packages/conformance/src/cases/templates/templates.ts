import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '@svc/runtime/testing';
import { casesOf, type Draft } from '../../case.js';
import { unique, unknownIds } from '../../requests/samples.js';
import { type Api, assertFailure, assertStatus, call } from '../../wire/call.js';
import { run } from '../daemon/run.js';

interface Created {
  templateID: string;
  buildID: string;
  names: string[];
  aliases: string[];
  tags: string[];
  public: boolean;
}

interface Status {
  status: string;
  logs: unknown[];
  logEntries: { message: string; level: string; step?: string }[];
  reason?: { message: string; step?: string; logEntries?: unknown[] };
}

const HASH = 'c0ffee'.padEnd(64, '0');

/** A gzip-compressed tar archive of one file. */
function archiveOf(name: string, content: string): Buffer {
  const directory = mkdtempSync(path.join(tmpdir(), 'svc-archive-'));
  try {
    writeFileSync(path.join(directory, name), content);
    execFileSync('tar', ['-czf', path.join(directory, 'out.tgz'), '-C', directory, name]);
    return readFileSync(path.join(directory, 'out.tgz'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const create = async (api: Api, body: Record<string, unknown> = {}) =>
  assertStatus<Created>(
    await call(api, 'createTemplate', { body: { name: unique('template'), ...body } }),
    202,
  );

const idsOf = ({ templateID, buildID }: Created) => ({ path: { templateID, buildID } });

async function finish(api: Api, made: Created): Promise<Status> {
  return eventually(
    'the end of the build',
    async () => {
      const status = assertStatus<Status>(await call(api, 'getTemplateBuildStatus', idsOf(made)), 200);
      assert.deepEqual(status.logs, [], 'logs is always empty');
      return status.status === 'ready' || status.status === 'error' ? status : undefined;
    },
    120_000,
  );
}

/** A template whose build is ready. */
async function ready(api: Api, template: string, body: Record<string, unknown> = {}): Promise<Created> {
  const made = await create(api, body);
  assertStatus(
    await call(api, 'startTemplateBuild', { ...idsOf(made), body: { fromTemplate: template } }),
    202,
  );
  const status = await finish(api, made);
  assert.equal(status.status, 'ready', JSON.stringify(status));
  return made;
}

async function upload(
  api: Api,
  templateID: string,
  hash = HASH,
): Promise<{ present: boolean; token: string }> {
  const link = assertStatus<{ present: boolean; url?: string }>(
    await call(api, 'getTemplateFilesLink', { path: { templateID, hash } }),
    201,
  );
  return { present: link.present, token: decodeURIComponent(link.url?.split('/').at(-1) ?? '') };
}

const needs = ['templates'] as const;
const own = ['templates', 'teams'] as const;

/** Templates, builds and tags. */
export const templateCases = casesOf('templates', [
  {
    name: 'a template is built from steps and files, and sandboxes start with what was built',
    operation: 'startTemplateBuild',
    expects: 'success',
    needs,
    timeoutMs: 180_000,
    run: async (target) => {
      const made = await create(target, { cpuCount: 1, memoryMB: 256 });
      assert.match(made.templateID, /^[a-z0-9]{20}$/);
      assert.deepEqual(made.tags, ['default']);
      const waiting = assertStatus<Status>(await call(target, 'getTemplateBuildStatus', idsOf(made)), 200);
      assert.equal(waiting.status, 'waiting');
      assert.deepEqual(waiting.logEntries, []);
      const first = await upload(target, made.templateID);
      assert.equal(first.present, false);
      const put = await call(target, 'uploadTemplateFiles', {
        path: { token: first.token },
        body: archiveOf('greeting.txt', 'hello'),
        key: null,
      });
      assertStatus(put, 204);
      assert.equal((await upload(target, made.templateID)).present, true);
      const steps = [
        { type: 'COPY', args: ['greeting.txt', '/home/user/greeting.txt'], filesHash: HASH },
        { type: 'env', args: ['BUILT', 'yes'] },
        { type: 'RUN', args: ['echo from the build; echo "$BUILT" > ~/built.txt'] },
      ].slice(target.capabilities.has('isolation') ? 0 : 1);
      assertStatus(
        await call(target, 'startTemplateBuild', {
          ...idsOf(made),
          body: { fromTemplate: target.template, steps },
        }),
        202,
      );
      assertFailure(
        await call(target, 'startTemplateBuild', { ...idsOf(made), body: { fromTemplate: target.template } }),
        { status: 400 },
      );
      const status = await finish(target, made);
      assert.equal(status.status, 'ready', JSON.stringify(status));
      const logs = assertStatus<{ logs: { message: string }[] }>(
        await call(target, 'getTemplateBuildLogs', idsOf(made)),
        200,
      ).logs;
      assert.ok(
        logs.some((one) => one.message.includes('from the build')),
        JSON.stringify(logs),
      );
      const read = assertStatus<{ builds: { status: string; cpuCount: number }[]; spawnCount: number }>(
        await call(target, 'getTemplate', { path: { templateID: made.templateID } }),
        200,
      );
      assert.equal(read.builds[0]?.status, 'ready');
      assert.equal(read.spawnCount, 0);
      const sandbox = await target.newSandbox({ templateID: made.aliases[0] });
      const { stdout } = await run(sandbox, 'cat ~/built.txt; echo "$BUILT"; cat ~/greeting.txt 2>/dev/null');
      assert.match(stdout, /^yes\nyes\n/);
      if (target.capabilities.has('isolation')) assert.match(stdout, /hello$/);
      assertFailure(await call(target, 'deleteTemplate', { path: { templateID: made.templateID } }), {
        status: 400,
      });
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      assertStatus(await call(target, 'deleteTemplate', { path: { templateID: made.templateID } }), 204);
      assertFailure(await call(target, 'deleteTemplate', { path: { templateID: made.templateID } }), {
        status: 404,
      });
    },
  },
  {
    name: 'a step that fails ends the build and is named',
    operation: 'getTemplateBuildStatus',
    expects: 'success',
    needs,
    timeoutMs: 120_000,
    run: async (target) => {
      const made = await create(target);
      const steps = [
        { type: 'RUN', args: ['true'] },
        { type: 'RUN', args: ['echo broken >&2; exit 3'] },
      ];
      assertStatus(
        await call(target, 'startTemplateBuild', {
          ...idsOf(made),
          body: { fromTemplate: target.template, steps },
        }),
        202,
      );
      const status = await finish(target, made);
      assert.equal(status.status, 'error');
      assert.equal(status.reason?.step, '2');
      assert.ok((status.reason?.message ?? '').length > 0);
      assertFailure(await call(target, 'createSandboxV2', { body: { templateID: made.aliases[0] } }), {
        status: 404,
      });
    },
  },
  {
    name: 'templates that make no sense are refused',
    operation: 'createTemplate',
    expects: '400',
    needs,
    run: async (target) => {
      const name = unique('template');
      for (const body of [
        {},
        { name: '' },
        { name: 'has space' },
        { name: 'x'.repeat(129) },
        { name: 'somebody-else/name' },
        { name, cpuCount: 3 },
        { name, cpuCount: 0 },
        { name, cpuCount: 10 },
        { name, memoryMB: 127 },
        { name, memoryMB: 129 },
        { name, memoryMB: 16_384 },
        { name, tags: ['bad tag'] },
      ])
        assertFailure(await call(target, 'createTemplate', { body }), { status: 400 });
    },
  },
  {
    name: 'a name that is the id of a template gives 409',
    operation: 'createTemplate',
    expects: '409',
    needs,
    run: async (target) => {
      const { templateID } = await create(target);
      assertFailure(await call(target, 'createTemplate', { body: { name: templateID } }), { status: 409 });
    },
  },
  {
    name: 'more builds than the team may have give 429',
    operation: 'createTemplate',
    expects: '429 builds',
    needs: own,
    run: async (target) => {
      const team = await target.team({ limits: { maxConcurrentBuilds: 1 } });
      await create(team);
      const answer = await call(team, 'createTemplate', { body: { name: unique('template') } });
      assertFailure(answer, { status: 429 });
      assert.equal(answer.headers['retry-after'], undefined);
    },
  },
  {
    name: 'builds that make no sense are refused',
    operation: 'startTemplateBuild',
    expects: '400',
    needs,
    run: async (target) => {
      const made = await create(target);
      for (const body of [
        {},
        { fromImage: 'a', fromTemplate: target.template },
        { fromTemplate: '' },
        { fromTemplate: target.template, steps: [{}] },
      ])
        assertFailure(await call(target, 'startTemplateBuild', { ...idsOf(made), body }), { status: 400 });
    },
  },
  {
    name: 'the newest build of a name supersedes one that waits',
    operation: 'createTemplate',
    expects: 'success',
    needs,
    run: async (target) => {
      const first = await create(target);
      const second = await create(target, { name: first.aliases[0] });
      assert.equal(second.templateID, first.templateID);
      assert.notEqual(second.buildID, first.buildID);
      const status = assertStatus<Status>(await call(target, 'getTemplateBuildStatus', idsOf(first)), 200);
      assert.equal(status.status, 'error');
    },
  },
  {
    name: 'lists have pages, newest first',
    operation: 'listTemplatesV2',
    expects: 'success',
    needs: own,
    run: async (target) => {
      const team = await target.team();
      const made = [await create(team), await create(team), await create(team)].map((one) => one.templateID);
      const seen: string[] = [];
      let nextToken: string | undefined;
      do {
        const answer = await call(team, 'listTemplatesV2', { query: { limit: 2, nextToken } });
        seen.push(...assertStatus<{ templateID: string }[]>(answer, 200).map((one) => one.templateID));
        nextToken = answer.headers['x-next-token'] as string | undefined;
      } while (nextToken !== undefined);
      assert.deepEqual(seen.filter((id) => made.includes(id)).sort(), [...made].sort());
      const v1 = assertStatus<{ templateID: string }[]>(await call(team, 'listTemplates'), 200);
      for (const id of made) assert.ok(v1.some((one) => one.templateID === id));
      assertFailure(await call(team, 'listTemplatesV2', { query: { nextToken: 'nonsense' } }), {
        status: 400,
      });
      assertFailure(await call(team, 'listTemplatesV2', { query: { limit: 0 } }), { status: 400 });
      assertFailure(
        await call(team, 'getTemplate', { path: { templateID: made[0]! }, query: { nextToken: 'nonsense' } }),
        { status: 400 },
      );
      assertFailure(
        await call(team, 'getTemplate', { path: { templateID: made[0]! }, query: { limit: 101 } }),
        { status: 400 },
      );
    },
  },
  {
    name: 'names are found, and those of others are closed',
    operation: 'getTemplateAlias',
    expects: 'success',
    needs: own,
    run: async (target) => {
      const team = await target.team();
      const made = await create(team);
      const alias = made.aliases[0]!;
      const found = assertStatus<{ templateID: string; public: boolean }>(
        await call(team, 'getTemplateAlias', { path: { alias } }),
        200,
      );
      assert.deepEqual(found, { templateID: made.templateID, public: false });
      assertFailure(await call(team, 'getTemplateAlias', { path: { alias: 'has space' } }), { status: 400 });
      assertFailure(await call(team, 'listTemplateTags', { path: { templateID: 'has space' } }), {
        status: 400,
      });
      const stranger = await target.team();
      const { status } = await call(stranger, 'getTemplateAlias', {
        path: { alias: `${team.slug}/${alias}` },
      });
      assert.ok(status === 403 || status === 404);
      for (const operation of ['getTemplate', 'listTemplateTags'])
        assertFailure(await call(stranger, operation, { path: { templateID: made.templateID } }), {
          status: 403,
        });
      assertFailure(await call(stranger, 'createSandboxV2', { body: { templateID: made.templateID } }), {
        status: 404,
      });
    },
  },
  {
    name: 'a public template serves others, a private one does not',
    operation: 'updateTemplateV2',
    expects: 'success',
    needs: own,
    timeoutMs: 120_000,
    run: async (target) => {
      const team = await target.team();
      const stranger = await target.team();
      const made = await ready(team, target.template);
      const reference = `${team.slug}/${made.aliases[0]}`;
      assertFailure(await call(stranger, 'createSandboxV2', { body: { templateID: reference } }), {
        status: 404,
      });
      const path = { templateID: made.templateID };
      assert.ok(
        assertStatus<{ names: string[] }>(
          await call(team, 'updateTemplateV2', { path, body: { public: true } }),
          200,
        ).names.includes(reference),
      );
      const sandbox = await target.newSandbox({ templateID: reference }, stranger);
      assertStatus(await call(stranger, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      for (const operation of ['updateTemplate', 'updateTemplateV2'])
        assertFailure(await call(stranger, operation, { path, body: { public: false } }), { status: 403 });
      assertStatus(await call(team, 'updateTemplateV2', { path, body: {} }), 200);
    },
  },
  {
    name: 'publishing claims the bare name, which only one may have',
    operation: 'updateTemplate',
    expects: '409',
    needs: own,
    timeoutMs: 120_000,
    run: async (target) => {
      const name = unique('public');
      const [one, two] = [await target.team(), await target.team()];
      const first = await create(one, { name });
      const second = await create(two, { name });
      assertStatus(
        await call(one, 'updateTemplate', { path: { templateID: first.templateID }, body: { public: true } }),
        200,
      );
      assertFailure(
        await call(two, 'updateTemplate', {
          path: { templateID: second.templateID },
          body: { public: true },
        }),
        { status: 409 },
      );
    },
  },
  {
    name: 'tags are set, moved, listed, used and deleted',
    operation: 'assignTemplateTags',
    expects: 'success',
    needs: own,
    timeoutMs: 120_000,
    run: async (target) => {
      const team = await target.team();
      const made = await ready(team, target.template);
      const name = made.aliases[0]!;
      const assigned = assertStatus<{ tags: string[]; buildID: string }>(
        await call(team, 'assignTemplateTags', { body: { target: name, tags: ['V1', 'v1', 'stable'] } }),
        201,
      );
      assert.deepEqual(assigned.tags.sort(), ['stable', 'v1']);
      assert.equal(assigned.buildID, made.buildID);
      const tags = async () =>
        assertStatus<{ tag: string }[]>(
          await call(team, 'listTemplateTags', { path: { templateID: made.templateID } }),
          200,
        )
          .map((one) => one.tag)
          .sort();
      assert.deepEqual(await tags(), ['default', 'stable', 'v1']);
      const sandbox = await target.newSandbox({ templateID: `${name}:v1` }, team);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      assertStatus(
        await call(team, 'deleteTemplateTags', { body: { name, tags: ['v1', 'no-such-tag'] } }),
        204,
      );
      assert.deepEqual(await tags(), ['default', 'stable']);
      for (const body of [
        { name, tags: ['default'] },
        { name: `${name}:stable`, tags: ['stable'] },
        { name, tags: [] },
      ])
        assertFailure(await call(team, 'deleteTemplateTags', { body }), { status: 400 });
      for (const body of [
        { target: name, tags: [] },
        { target: name, tags: ['bad tag'] },
        { target: name, tags: [made.buildID] },
      ])
        assertFailure(await call(team, 'assignTemplateTags', { body }), { status: 400 });
      assertFailure(
        await call(team, 'assignTemplateTags', { body: { target: `${name}:no-such-tag`, tags: ['x'] } }),
        { status: 404 },
      );
    },
  },
  {
    name: 'uploads need a sound link and a sound archive',
    operation: 'uploadTemplateFiles',
    expects: '400',
    needs,
    run: async (target) => {
      const { templateID } = await create(target);
      const { token } = await upload(target, templateID);
      const put = (body: Buffer, to = token) =>
        call(target, 'uploadTemplateFiles', { path: { token: to }, body, key: null });
      assertFailure(await put(Buffer.from('not an archive')), { status: 400 });
      assertFailure(await put(archiveOf('x', 'x'), `${token.slice(0, -4)}AAAA`), { status: 403 });
      assertFailure(await put(archiveOf('x', 'x'), 'nonsense'), { status: 403 });
      for (const hash of ['short', 'A'.repeat(64)])
        assertFailure(await call(target, 'getTemplateFilesLink', { path: { templateID, hash } }), {
          status: 400,
        });
      assertStatus(await call(target, 'deleteTemplate', { path: { templateID } }), 204);
      assertFailure(await put(archiveOf('x', 'x')), { status: 404 });
    },
  },
  {
    name: 'an upload that is too large gives 413',
    operation: 'uploadTemplateFiles',
    expects: '413',
    needs: ['templates', 'servers'],
    run: async (target) => {
      const server = await target.server('small');
      const { templateID } = await create(server);
      const { token } = await upload(server, templateID);
      assertFailure(
        await call(server, 'uploadTemplateFiles', {
          path: { token },
          body: Buffer.alloc(10_000, 1),
          key: null,
        }),
        { status: 413 },
      );
    },
  },
  ...['getTemplateBuildStatus', 'getTemplateBuildLogs'].map(
    (operation): Draft => ({
      name: `${operation} tells an unknown build from a bad query`,
      operation,
      expects: '404',
      needs,
      run: async (target) => {
        const made = await create(target);
        const path = { templateID: made.templateID, buildID: unknownIds.buildID };
        assertFailure(await call(target, operation, { path }), { status: 404 });
        const bad = [
          { limit: 101 },
          { limit: -1 },
          { level: 'loud' },
          operation.endsWith('Logs') ? { direction: 'up' } : { logsOffset: -1 },
        ];
        for (const query of bad as Record<string, string>[])
          assertFailure(await call(target, operation, { ...idsOf(made), query }), { status: 400 });
      },
    }),
  ),
]);

import assert from 'node:assert/strict';
import type { Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { run } from '../../wire/run.js';
import { archiveOf, create, finish, HASH, idsOf, needs, own, type Status, upload } from './calls.js';

/** Templates made and built, and what is refused on the way. */
export const buildCases: Draft[] = [
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
];

import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { kill } from '../../requests/sandboxes.js';
import { assertFailure, assertStatus, call, callFails, callOk } from '../../wire/call.js';
import { run } from '../../wire/run.js';
import { archiveOf, create, finish, HASH, idsOf, needs, own, type Status, upload } from './calls.js';

/** Templates made and built, and what is refused on the way. */
export const buildCases: Draft[] = [
  check(
    'a template is built from steps and files, and sandboxes start with what was built',
    ['startTemplateBuild', 'success', { needs }],
    async (target) => {
      const made = await create(target, { cpuCount: 1, memoryMB: 256 });
      assert.match(made.templateID, /^[a-z0-9]{20}$/);
      assert.deepEqual(made.tags, ['default']);
      const waiting = await callOk<Status>(target, 'getTemplateBuildStatus', 200, idsOf(made));
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
      await callOk(target, 'startTemplateBuild', 202, {
        ...idsOf(made),
        body: { fromTemplate: target.template, steps },
      });
      await callFails(target, 'startTemplateBuild', 400, {
        ...idsOf(made),
        body: { fromTemplate: target.template },
      });
      const status = await finish(target, made);
      assert.equal(status.status, 'ready', JSON.stringify(status));
      const logs = (
        await callOk<{ logs: { message: string }[] }>(target, 'getTemplateBuildLogs', 200, idsOf(made))
      ).logs;
      assert.ok(
        logs.some((one) => one.message.includes('from the build')),
        JSON.stringify(logs),
      );
      const read = await callOk<{ builds: { status: string; cpuCount: number }[]; spawnCount: number }>(
        target,
        'getTemplate',
        200,
        { path: { templateID: made.templateID } },
      );
      assert.equal(read.builds[0]?.status, 'ready');
      assert.equal(read.spawnCount, 0);
      const sandbox = await target.newSandbox({ templateID: made.aliases[0] });
      const { stdout } = await run(sandbox, 'cat ~/built.txt; echo "$BUILT"; cat ~/greeting.txt 2>/dev/null');
      assert.match(stdout, /^yes\nyes\n/);
      if (target.capabilities.has('isolation')) assert.match(stdout, /hello$/);
      await callFails(target, 'deleteTemplate', 400, { path: { templateID: made.templateID } });
      await kill(target, sandbox.sandboxId);
      await callOk(target, 'deleteTemplate', 204, { path: { templateID: made.templateID } });
      await callFails(target, 'deleteTemplate', 404, { path: { templateID: made.templateID } });
    },
  ),
  check(
    'a step that fails ends the build and is named',
    ['getTemplateBuildStatus', 'success', { needs }],
    async (target) => {
      const made = await create(target);
      const steps = [
        { type: 'RUN', args: ['true'] },
        { type: 'RUN', args: ['echo broken >&2; exit 3'] },
      ];
      await callOk(target, 'startTemplateBuild', 202, {
        ...idsOf(made),
        body: { fromTemplate: target.template, steps },
      });
      const status = await finish(target, made);
      assert.equal(status.status, 'error');
      assert.equal(status.reason?.step, '2');
      assert.ok((status.reason?.message ?? '').length > 0);
      await callFails(target, 'createSandboxV2', 404, { body: { templateID: made.aliases[0] } });
    },
  ),
  check('templates that make no sense are refused', ['createTemplate', '400', { needs }], async (target) => {
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
      await callFails(target, 'createTemplate', 400, { body });
  }),
  check(
    'a name that is the id of a template gives 409',
    ['createTemplate', '409', { needs }],
    async (target) => {
      const { templateID } = await create(target);
      await callFails(target, 'createTemplate', 409, { body: { name: templateID } });
    },
  ),
  check(
    'more builds than the team may have give 429',
    ['createTemplate', '429 builds', { needs: own }],
    async (target) => {
      const team = await target.team({ limits: { maxConcurrentBuilds: 1 } });
      await create(team);
      const answer = await call(team, 'createTemplate', { body: { name: unique('template') } });
      assertFailure(answer, { status: 429 });
      assert.equal(answer.headers['retry-after'], undefined);
    },
  ),
  check('builds that make no sense are refused', ['startTemplateBuild', '400', { needs }], async (target) => {
    const made = await create(target);
    for (const body of [
      {},
      { fromImage: 'a', fromTemplate: target.template },
      { fromTemplate: '' },
      { fromTemplate: target.template, steps: [{}] },
    ])
      await callFails(target, 'startTemplateBuild', 400, { ...idsOf(made), body });
  }),
  check(
    'the newest build of a name supersedes one that waits',
    ['createTemplate', 'success', { needs }],
    async (target) => {
      const first = await create(target);
      const second = await create(target, { name: first.aliases[0] });
      assert.equal(second.templateID, first.templateID);
      assert.notEqual(second.buildID, first.buildID);
      const status = await callOk<Status>(target, 'getTemplateBuildStatus', 200, idsOf(first));
      assert.equal(status.status, 'error');
    },
  ),
];

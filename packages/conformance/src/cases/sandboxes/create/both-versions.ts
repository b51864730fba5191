import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unknownIds } from '../../../requests/samples.js';
import { detail, kill } from '../../../requests/sandboxes.js';
import { assertFailure, call, callFails } from '../../../wire/call.js';
import { daemonSend } from '../../../wire/rpc.js';
import { create, lifeOf } from './calls.js';
import { REFUSED } from './refused-bodies.js';

/** Behaviour that both versions of the operation have. */
export const bothVersionCases: Draft[] = (['createSandboxV2', 'createSandbox'] as const).flatMap(
  (operation): Draft[] => [
    check(`${operation} gives a running sandbox with its token`, [operation, 'success'], async (target) => {
      const made = await create(target, { timeout: 60, metadata: { who: 'me' } }, operation);
      assert.match(made.sandboxID, /^i[a-z0-9]{20}$/);
      assert.match(made.templateID, /^[a-z0-9]{20}$/);
      assert.ok(made.clientID.length > 0);
      assert.match(made.envdVersion, /^\d+\.\d+\.\d+/);
      assert.ok((made.envdAccessToken ?? '').length >= 32);
      assert.equal(made.trafficAccessToken, undefined, 'only with private ingress');
      const read = await detail(target, made.sandboxID);
      assert.equal(read.state, 'running');
      assert.equal(read.envdAccessToken, made.envdAccessToken);
      assert.deepEqual(read.metadata, { who: 'me' });
      assert.equal(lifeOf(read), 60);
      assert.deepEqual(read.lifecycle, { autoResume: false, onTimeout: 'kill' });
      const health = await daemonSend(
        { sandboxUrl: target.sandboxUrl, sandboxId: made.sandboxID, accessToken: made.envdAccessToken! },
        '/health',
      );
      assert.equal(health.status, 204, 'it answers at once');
      await kill(target, made.sandboxID);
    }),
    check(
      `${operation} without a timeout lives as long as the version says`,
      [operation, 'success'],
      async (target) => {
        const made = await create(target, {}, operation);
        assert.equal(lifeOf(await detail(target, made.sandboxID)), operation === 'createSandbox' ? 15 : 300);
        await call(target, 'killSandbox', { path: { sandboxID: made.sandboxID } });
      },
    ),
    check(
      `${operation} of a template that is not there gives 404`,
      [operation, '404 template'],
      async (target) => {
        for (const templateID of [
          'no-such-template',
          unknownIds.templateID,
          'nobody/base',
          `${target.template}:no-such-tag`,
        ]) {
          const answer = await call(target, operation, { body: { templateID } });
          const { message } = assertFailure(answer, { status: 404 });
          assert.ok(
            message.includes(templateID.split(':')[0]!),
            `the message names the reference: ${message}`,
          );
        }
      },
    ),
    check(
      `${operation} of a reference that is none gives 400`,
      [operation, '400 reference'],
      async (target) => {
        for (const templateID of ['no such', 'a/b/c', 'base:', ':tag', 'bäse', 'base:bad tag'])
          await callFails(target, operation, 400, { body: { templateID } });
      },
    ),
    check(
      `${operation} without a template gives 400`,
      [operation, '400 validation'],
      async (target) =>
        await callFails(target, operation, { status: 400, message: 'validation error: ' }, { body: {} }),
    ),
    check(
      `${operation} beyond the longest life gives 400 that names the hours`,
      [operation, '400 timeout', { needs: ['teams'] }],
      async (target) => {
        const team = await target.team({ limits: { maxTimeToLiveSeconds: 7_200 } });
        const answer = await call(team, operation, { body: { templateID: target.template, timeout: 7_201 } });
        assertFailure(answer, { status: 400, message: /2 hours/ });
      },
    ),
    check(
      `${operation} with an egress proxy needs the flag of the team`,
      [operation, '403 egressProxy'],
      async (target) => {
        for (const address of ['proxy.example.com:1080', 'nonsense'])
          await callFails(
            target,
            operation,
            { status: 403, message: /network\.egressProxy/ },
            {
              body: { templateID: target.template, network: { egressProxy: { address } } },
            },
          );
      },
    ),
    ...Object.entries(REFUSED).map(([name, body]) =>
      check(
        `${operation} refuses ${name}`,
        [operation, `400 ${name}`],
        async (target) =>
          await callFails(target, operation, 400, { body: { templateID: target.template, ...body } }),
      ),
    ),
  ],
);

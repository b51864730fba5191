import assert from 'node:assert/strict';
import type { Draft } from '../../case.js';
import { assertRecord, knock, to, UNKNOWN } from '../../requests/knock.js';
import { run } from '../../wire/run.js';

const closed = ['/init', '/freeze', '/unfreeze', '/fsfreeze', '/fsthaw', '/collapse', '/upgrade'];
const spellings = ['//init', '/./init', '/x/../init', '/init/', '/%69nit', '/init?x=1'];

/** Routes of the daemon that only the platform may call. */
export const closedRouteCases: Draft[] = [
  ...closed.map(
    (path): Draft => ({
      name: `POST ${path} of the daemon is closed`,
      operation: 'gateway',
      expects: '404 closed',
      run: async (target) => {
        const sandbox = await target.sandbox();
        for (const id of [sandbox.sandboxId, UNKNOWN]) {
          const answer = await knock(
            target,
            { ...to(id, 49_983), 'X-Access-Token': sandbox.accessToken },
            path,
            {
              method: 'POST',
              body: '{}',
            },
          );
          const record = assertRecord(answer, 404);
          assert.equal(record.path, path);
        }
      },
    }),
  ),
  {
    name: 'closed routes are closed in any spelling',
    operation: 'gateway',
    expects: '404 closed',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const path of spellings) {
        const answer = await knock(
          target,
          { ...to(sandbox.sandboxId, 49_983), 'X-Access-Token': sandbox.accessToken },
          path,
          {
            method: 'POST',
            body: '{"accessToken":"stolen"}',
          },
        );
        assert.equal(answer.status, 404, path);
      }
      assert.equal((await run(sandbox, 'echo still')).stdout, 'still\n', 'the token is the old one');
    },
  },
  {
    name: 'the log route of the daemon is no way around the token',
    operation: 'gateway',
    expects: '401',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const answer = await knock(target, to(sandbox.sandboxId, 49_983), '/logs?after=0&limit=10');
      assert.ok([401, 404].includes(answer.status), String(answer.status));
    },
  },
];

import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { assertRecord, knock, to, UNKNOWN } from '../../requests/knock.js';
import { run } from '../../wire/run.js';

const closed = ['/init', '/freeze', '/unfreeze', '/fsfreeze', '/fsthaw', '/collapse', '/upgrade'];
const spellings = ['//init', '/./init', '/x/../init', '/init/', '/%69nit', '/init?x=1'];

/** Routes of the daemon that only the platform may call. */
export const closedRouteCases: Draft[] = [
  ...closed.map((path) =>
    check(`POST ${path} of the daemon is closed`, ['gateway', '404 closed'], async (target) => {
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
    }),
  ),
  check('closed routes are closed in any spelling', ['gateway', '404 closed'], async (target) => {
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
  }),
  check('the log route of the daemon is no way around the token', ['gateway', '401'], async (target) => {
    const sandbox = await target.sandbox();
    const answer = await knock(target, to(sandbox.sandboxId, 49_983), '/logs?after=0&limit=10');
    assert.ok([401, 404].includes(answer.status), String(answer.status));
  }),
];

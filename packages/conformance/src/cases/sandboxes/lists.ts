import assert from 'node:assert/strict';
import { encodeMetadataFilter } from '@svc/platform';
import { casesOf, check } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { detail, kill, pause } from '../../requests/sandboxes.js';
import { type Api, assertStatus, call, callFails, callOk } from '../../wire/call.js';
import { run } from '../../wire/run.js';
import { send } from '../../wire/send.js';

interface Listed {
  sandboxID: string;
  state: string;
  metadata?: Record<string, string>;
  volumeMounts: unknown[];
  startedAt: string;
  templateID: string;
}

const list = async (api: Api, query: Record<string, string | number> = {}, operation = 'listSandboxesV2') => {
  const answer = await call(api, operation, { query });
  return { items: assertStatus<Listed[]>(answer, 200), headers: answer.headers };
};

const idsOf = ({ items }: { items: Listed[] }) => items.map(({ sandboxID }) => sandboxID);

/** Lists of sandboxes: filters, order, pages. */
export const listCases = casesOf('lists', [
  check(
    'pages, orders and totals of a team with five sandboxes',
    ['listSandboxesV2', 'success', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team();
      assert.deepEqual((await list(team)).items, []);
      const made = [];
      for (let index = 0; index < 5; index += 1)
        made.push(
          await target.newSandbox(
            { metadata: { number: String(index), group: index < 3 ? 'low' : 'high' } },
            team,
          ),
        );
      const ids = made.map((one) => one.sandboxId);
      await pause(team, ids[0]!);
      const newest = [...ids].reverse();
      const all = await list(team);
      assert.deepEqual(idsOf(all), newest, 'newest first');
      assert.equal(all.headers['x-total-running'], '4');
      assert.equal(all.headers['x-next-token'], undefined);
      assert.deepEqual(all.items.at(-1)?.state, 'paused');
      for (const one of all.items) assert.ok(Array.isArray(one.volumeMounts));
      assert.deepEqual(idsOf(await list(team, { order: 'asc' })), ids);
      for (const order of ['desc', 'asc'] as const) {
        const seen: string[] = [];
        let nextToken = '';
        for (let page = 0; page < 3; page += 1) {
          const { items, headers } = await list(team, { order, limit: 2, nextToken });
          seen.push(...items.map((one) => one.sandboxID));
          nextToken = (headers['x-next-token'] as string | undefined) ?? '';
          assert.equal(nextToken === '', page === 2);
          if (page === 0) assert.equal(headers['x-total-running'], '4', 'the total is of all pages');
        }
        assert.deepEqual(seen, order === 'asc' ? ids : newest);
      }
      assert.equal((await list(team, { state: 'running' })).items.length, 4);
      const paused = await list(team, { state: 'paused' });
      assert.deepEqual(idsOf(paused), [ids[0]]);
      assert.equal(paused.headers['x-total-running'], undefined);
      assert.equal((await list(team, { state: 'running,paused' })).items.length, 5);
      assert.equal((await list(team, {}, 'listSandboxes')).items.length, 4, 'v1 lists running ones');
      assert.equal((await list(team, { metadata: 'group=low' })).items.length, 3);
      assert.deepEqual(idsOf(await list(team, { metadata: 'group=low&number=1' })), [ids[1]]);
      assert.equal((await list(team, { metadata: 'group=low' }, 'listSandboxes')).items.length, 2);
      const third = all.items[2]!;
      assert.deepEqual(
        idsOf(await list(team, { startedAfter: third.startedAt })),
        newest.slice(0, 3),
        'startedAfter is inclusive',
      );
      assert.equal((await list(team, { template: target.template })).items.length, 5);
      assert.equal((await list(team, { template: third.templateID })).items.length, 5);
      const nothing = await list(team, { template: 'no-such-template' });
      assert.deepEqual(nothing.items, []);
      assert.equal(nothing.headers['x-total-running'], '0');
      await Promise.all(ids.map((id) => kill(team, id)));
      assert.deepEqual((await list(team)).items, []);
    },
  ),
  check(
    'metadata with odd characters is found by the encoding of the clients',
    ['listSandboxesV2', 'success'],
    async (target) => {
      const metadata = { [unique('odd')]: 'a b+c%d&e=f/g?h#ü', 'k & = % +': 'plain', percent: '100%25' };
      const sandbox = await target.newSandbox({ metadata });
      const { items } = await list(target, { metadata: encodeMetadataFilter(metadata)! });
      assert.deepEqual(
        items.map((one) => one.sandboxID),
        [sandbox.sandboxId],
      );
      assert.deepEqual(items[0]?.metadata, metadata);
      const other = encodeMetadataFilter({ ...metadata, percent: '100%' })!;
      assert.deepEqual((await list(target, { metadata: other })).items, []);
      await kill(target, sandbox.sandboxId);
    },
  ),
  check(
    'of a repeated key the last counts, and a plus is a space',
    ['listSandboxesV2', 'success'],
    async (target) => {
      const key = unique('key');
      const sandbox = await target.newSandbox({ metadata: { [key]: 'a b' } });
      const raw = async (filter: string) => {
        const answer = await send(`${target.apiUrl}/v2/sandboxes?metadata=${filter}`, {
          headers: { 'X-API-Key': target.apiKey },
        });
        return assertStatus<Listed[]>(answer, 200).length;
      };
      assert.equal(await raw(`${key}%3Dx%26${key}%3Da%2Bb`), 1);
      assert.equal(await raw(`${key}%3Da%2520b`), 1);
      assert.equal(await raw(`${key}%3Da%252520b`), 1);
      assert.equal(await raw(`${key}%3Dx`), 0);
      await kill(target, sandbox.sandboxId);
    },
  ),
  ...(['listSandboxesV2', 'listSandboxes'] as const).map((operation) =>
    check(
      `${operation} refuses a metadata filter that cannot be read`,
      [operation, '400 metadata'],
      async (target: Api) => {
        for (const metadata of ['', 'novalue', 'a=b=c', 'a=b&', 'a=%zz', '%', 'a=%25zz', 'a=%E4'])
          await callFails(
            target,
            operation,
            { status: 400, message: 'Error parsing metadata' },
            { query: { metadata } },
          );
      },
    ),
  ),
  check('queries out of range are refused', ['listSandboxesV2', '400 query'], async (target) => {
    const bad: Record<string, string>[] = [
      { limit: '0' },
      { limit: '101' },
      { limit: '-1' },
      { limit: 'ten' },
      { limit: '1.5' },
      { order: 'up' },
      { state: 'dead' },
      { state: 'running,dead' },
      { startedAfter: 'yesterday' },
      { template: 'base:tag' },
    ];
    for (const query of bad) await callFails(target, 'listSandboxesV2', 400, { query });
  }),
  check(
    'a cursor that is none, or of another order, is refused',
    ['listSandboxesV2', '400 cursor', { needs: ['teams'] }],
    async (target) => {
      for (const nextToken of ['nonsense', '%%%', Buffer.from('2020__x').toString('base64url')])
        await callFails(
          target,
          'listSandboxesV2',
          { status: 400, message: 'Invalid next token' },
          { query: { nextToken } },
        );
      const team = await target.team();
      const made = [await target.newSandbox({}, team), await target.newSandbox({}, team)];
      const { headers } = await list(team, { limit: 1 });
      const nextToken = headers['x-next-token'] as string;
      await callFails(team, 'listSandboxesV2', 400, { query: { order: 'asc', nextToken } });
      await Promise.all(made.map(({ sandboxId }) => kill(team, sandboxId)));
    },
  ),
  check('snapshots are listed by name and source', ['listSnapshots', 'success'], async (target) => {
    assert.deepEqual(await callOk(target, 'listSnapshots', 200, { query: { name: 'no-such-snapshot' } }), []);
    await callFails(target, 'listSnapshots', 400, { query: { nextToken: 'nonsense' } });
    await callFails(target, 'listSnapshots', 400, { query: { limit: 0 } });
  }),
  check(
    'a snapshot of the files is a template that starts with them',
    ['createSnapshot', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox({ envVars: { KEPT: 'yes' } });
      await run(sandbox, 'echo stored > ~/stored.txt');
      const name = unique('snapshot');
      const answer = await call(target, 'createSnapshot', {
        path: { sandboxID: sandbox.sandboxId },
        body: { name, memory: false },
      });
      const { snapshotID, names } = assertStatus<{ snapshotID: string; names: string[] }>(answer, 201);
      assert.ok(snapshotID.includes(name) && names.length > 0);
      const found = await callOk<{ snapshotID: string }[]>(target, 'listSnapshots', 200, {
        query: { sandboxID: sandbox.sandboxId },
      });
      assert.deepEqual(
        found.map((one) => one.snapshotID),
        [snapshotID],
      );
      assert.equal((await detail(target, sandbox.sandboxId)).state, 'running');
      const copy = await target.newSandbox({ templateID: snapshotID });
      assert.equal((await run(copy, 'cat ~/stored.txt')).stdout, 'stored\n');
      for (const one of [sandbox, copy]) await kill(target, one.sandboxId);
    },
  ),
  check(
    'a snapshot in the namespace of somebody else is refused',
    ['createSnapshot', '400 name'],
    async (target) => {
      const { sandboxId } = await target.sandbox();
      for (const name of ['somebody-else/name', 'not a name', 'a/b/c'])
        await callFails(target, 'createSnapshot', 400, { path: { sandboxID: sandboxId }, body: { name } });
    },
  ),
]);

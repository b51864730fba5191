import assert from 'node:assert/strict';
import { casesOf, check } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { assertFailure, assertStatus, call, callFails, callOk } from '../../wire/call.js';

interface Secret {
  secretID: string;
  name: string;
  currentVersion: number;
  metadata: Record<string, string>;
}

const FIXED = 'Invalid secrets request';
/** Operations that name a secret, with a body for each. */
const byId = [['getSecret'], ['deleteSecret'], ['updateSecret', { value: 'v' }]] as const;
const VALUE = 'the-value-that-must-never-come-back';

/** Secrets: names, versions, limits; the value never comes back. */
export const secretCases = casesOf('secrets', [
  check(
    'a secret is made, found by id and name, renewed and deleted',
    ['createSecret', 'success'],
    async (target) => {
      const name = unique('Secret');
      const created = await call(target, 'createSecret', {
        body: { name: ` ${name} `, value: VALUE, metadata: { a: 'b' } },
      });
      const secret = assertStatus<Secret>(created, 201);
      assert.match(secret.secretID, /^sec_[a-z2-7]{26}$/);
      assert.equal(secret.name, name.toLowerCase());
      assert.equal(secret.currentVersion, 1);
      for (const secretID of [secret.secretID, secret.name, secret.secretID.toUpperCase(), ` ${name} `]) {
        const answer = await call(target, 'getSecret', { path: { secretID } });
        assert.deepEqual(assertStatus<Secret>(answer, 200).secretID, secret.secretID);
        assert.equal(answer.headers['cache-control'], 'no-store');
      }
      const second = await call(target, 'updateSecret', {
        path: { secretID: secret.name },
        body: { value: `${VALUE}2` },
      });
      assert.equal(assertStatus<Secret>(second, 200).currentVersion, 2);
      assert.deepEqual(assertStatus<Secret>(second, 200).metadata, { a: 'b' }, 'omitted metadata is kept');
      const third = await call(target, 'updateSecret', {
        path: { secretID: secret.name },
        body: { value: VALUE, metadata: {} },
      });
      assert.deepEqual(assertStatus<Secret>(third, 200).metadata, {}, 'metadata that is given replaces');
      for (const answer of [created, second, third]) assert.ok(!answer.text.includes(VALUE));
      await callOk(target, 'deleteSecret', 204, { path: { secretID: secret.secretID } });
      await callFails(
        target,
        'deleteSecret',
        { status: 404, message: 'Secret not found' },
        { path: { secretID: secret.secretID } },
      );
      await callOk(target, 'createSecret', 201, { body: { name, value: VALUE } });
      await callOk(target, 'deleteSecret', 204, { path: { secretID: name } });
    },
  ),
  check(
    'requests that make no sense get a fixed text and nothing of theirs back',
    ['createSecret', '400'],
    async (target) => {
      const metadata = (count: number, key = 'k', value = 'v') =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]));
      const bad: Record<string, unknown>[] = [
        { name: 'has space', value: VALUE },
        { name: 'ümlaut', value: VALUE },
        { name: '', value: VALUE },
        { name: 'n'.repeat(129), value: VALUE },
        { name: 'sec_name', value: VALUE },
        { name: unique('s'), value: '' },
        { name: unique('s'), value: 'x'.repeat(16_385) },
        { name: unique('s') },
        { name: unique('s'), value: 7 },
        { name: unique('s'), value: VALUE, metadata: metadata(33) },
        { name: unique('s'), value: VALUE, metadata: { ['k'.repeat(129)]: 'v' } },
        { name: unique('s'), value: VALUE, metadata: { '': 'v' } },
        { name: unique('s'), value: VALUE, metadata: { k: 'v'.repeat(1_025) } },
        { name: unique('s'), value: VALUE, metadata: { k: 'ü'.repeat(513) } },
        { name: unique('s'), value: VALUE, metadata: metadata(16, 'k', 'v'.repeat(1_000)) },
        { name: unique('s'), value: VALUE, metadata: { k: 1 } },
      ];
      for (const body of bad) {
        const answer = await call(target, 'createSecret', { body });
        assert.equal(
          assertFailure(answer, { status: 400 }).message,
          FIXED,
          JSON.stringify(body).slice(0, 100),
        );
        assert.equal(answer.headers['cache-control'], 'no-store');
        assert.ok(!answer.text.includes(VALUE));
      }
      await callOk(target, 'createSecret', 201, {
        body: { name: unique('s'), value: 'x'.repeat(16_384), metadata: metadata(32) },
      });
    },
  ),
  check('an id that is none is refused and is no name', ['getSecret', '400'], async (target) => {
    for (const secretID of ['sec_short', 'sec_', 'has space', `sec_${'1'.repeat(26)}`])
      for (const [operation, body] of byId)
        await callFails(
          target,
          operation,
          { status: 400, message: FIXED },
          { path: { secretID }, ...(body === undefined ? {} : { body }) },
        );
  }),
  check('a name that is taken gives 409', ['createSecret', '409'], async (target) => {
    const name = unique('taken');
    await callOk(target, 'createSecret', 201, { body: { name, value: VALUE } });
    await callFails(target, 'createSecret', 409, { body: { name: name.toUpperCase(), value: VALUE } });
  }),
  check(
    'the cap of secrets gives 409 secret_limit_reached',
    ['createSecret', '409 secret_limit_reached', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ limits: { maxSecrets: 2 } });
      for (const name of ['one', 'two'])
        await callOk(team, 'createSecret', 201, { body: { name, value: VALUE } });
      await callFails(
        team,
        'createSecret',
        { status: 409, errorCode: 'secret_limit_reached' },
        { body: { name: 'three', value: VALUE } },
      );
      await callOk(team, 'deleteSecret', 204, { path: { secretID: 'one' } });
      await callOk(team, 'createSecret', 201, { body: { name: 'three', value: VALUE } });
    },
  ),
  check(
    "the list has pages, newest first, and only one's own",
    ['listSecrets', 'success', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team();
      for (const name of ['one', 'two', 'three'])
        await callOk(team, 'createSecret', 201, { body: { name, value: VALUE } });
      const seen: string[] = [];
      let nextToken: string | undefined;
      do {
        const answer = await call(team, 'listSecrets', { query: { limit: 2, nextToken } });
        seen.push(...assertStatus<Secret[]>(answer, 200).map((one) => one.name));
        nextToken = answer.headers['x-next-token'] as string | undefined;
        assert.ok(!answer.text.includes(VALUE));
      } while (nextToken !== undefined);
      assert.deepEqual(seen, ['three', 'two', 'one']);
      for (const limit of [0, 101]) await callFails(team, 'listSecrets', 400, { query: { limit } });
      await callFails(team, 'listSecrets', 400, { query: { nextToken: 'nonsense' } });
      const stranger = await target.team();
      for (const [operation, body] of byId)
        await callFails(stranger, operation, 404, {
          path: { secretID: 'one' },
          ...(body === undefined ? {} : { body }),
        });
    },
  ),
]);

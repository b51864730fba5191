import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unique } from '../../../requests/samples.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertFailure, call, callFails } from '../../../wire/call.js';
import type { Made } from './calls.js';

/** Creating under an idempotency key. */
export const idempotencyCases: Draft[] = [
  check('the same idempotency key makes one sandbox', ['createSandboxV2', 'success'], async (target) => {
    const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
    const body = { templateID: target.template, timeout: 60 };
    const first = await call(target, 'createSandboxV2', { body, headers });
    const second = await call(target, 'createSandboxV2', { body, headers });
    assert.equal(second.status, 201);
    assert.deepEqual(second.json(), first.json());
    assert.equal(first.headers['idempotency-replayed'], undefined);
    assert.equal(second.headers['idempotency-replayed'], 'true');
    const other = await call(target, 'createSandboxV2', { body: { ...body, timeout: 61 }, headers });
    assertFailure(other, { status: 409, errorCode: 'idempotency_request_mismatch' });
    await kill(target, (first.json() as Made).sandboxID);
  }),
  check('an idempotency key repeats a failure too', ['createSandboxV2', '404 template'], async (target) => {
    const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
    const body = { templateID: 'no-such-template' };
    const first = await call(target, 'createSandboxV2', { body, headers });
    const second = await call(target, 'createSandboxV2', { body, headers });
    assert.equal(first.status, 404);
    assert.equal(second.headers['idempotency-replayed'], 'true');
    assert.deepEqual(second.json(), first.json());
  }),
  check('a bad idempotency key is refused', ['createSandboxV2', '400 Idempotency-Key'], async (target) => {
    for (const key of ['Upper', 'with-dash', 'x'.repeat(256)])
      await callFails(target, 'createSandboxV2', 400, {
        body: { templateID: target.template },
        headers: { 'Idempotency-Key': key },
      });
  }),
  check(
    'two creates at once under one idempotency key make one sandbox',
    ['createSandboxV2', '409 idempotency'],
    async (target) => {
      const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
      const body = { templateID: target.template, timeout: 60 };
      const answers = await Promise.all(
        [1, 2, 3].map(() => call(target, 'createSandboxV2', { body, headers })),
      );
      const made = answers
        .filter((answer) => answer.status === 201)
        .map((answer) => (answer.json() as Made).sandboxID);
      assert.equal(new Set(made).size, 1);
      for (const answer of answers.filter((one) => one.status !== 201))
        assertFailure(answer, { status: 409, errorCode: 'idempotency_in_progress' });
      await kill(target, made[0]!);
    },
  ),
];

import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { unique } from '../../../requests/samples.js';
import { assertFailure, call } from '../../../wire/call.js';
import { kill, type Made } from './calls.js';

/** Creating under an idempotency key. */
export const idempotencyCases: Draft[] = [
  {
    name: 'the same idempotency key makes one sandbox',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
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
    },
  },
  {
    name: 'an idempotency key repeats a failure too',
    operation: 'createSandboxV2',
    expects: '404 template',
    run: async (target) => {
      const headers = { 'Idempotency-Key': unique('key').replaceAll('-', '') };
      const body = { templateID: 'no-such-template' };
      const first = await call(target, 'createSandboxV2', { body, headers });
      const second = await call(target, 'createSandboxV2', { body, headers });
      assert.equal(first.status, 404);
      assert.equal(second.headers['idempotency-replayed'], 'true');
      assert.deepEqual(second.json(), first.json());
    },
  },
  {
    name: 'a bad idempotency key is refused',
    operation: 'createSandboxV2',
    expects: '400 Idempotency-Key',
    run: async (target) => {
      for (const key of ['Upper', 'with-dash', 'x'.repeat(256)])
        assertFailure(
          await call(target, 'createSandboxV2', {
            body: { templateID: target.template },
            headers: { 'Idempotency-Key': key },
          }),
          { status: 400 },
        );
    },
  },
  {
    name: 'two creates at once under one idempotency key make one sandbox',
    operation: 'createSandboxV2',
    expects: '409 idempotency',
    run: async (target) => {
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
  },
];

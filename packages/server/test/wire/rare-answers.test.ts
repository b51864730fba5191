import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { canonicalJson } from '../../src/api/idempotency.js';
import { createSandbox } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { sha256 } from '../support/templates.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Answers that only another process, or a request at the same moment, can bring about. */
describe('an answer that is rare', () => {
  it('422: createSandboxV2 hears that the server that took the first request with this key died before it answered', async () => {
    const { db, now } = test.server.context;
    const team = await db
      .selectFrom('teams')
      .select('id')
      .where('slug', '=', 'default')
      .executeTakeFirstOrThrow();
    const body = { templateID: 'base' };
    await db
      .insertInto('idempotency')
      .values({
        team_id: team.id,
        key: 'lost1',
        request_hash: sha256(canonicalJson(body)),
        response_status: null,
        response: null,
        owner: 'a process that is gone',
        created_at: now(),
      })
      .execute();
    expect(await test.api('POST', '/v2/sandboxes', body, { 'Idempotency-Key': 'lost1' })).toMatchObject({
      status: 422,
      body: { code: 422, error_code: 'idempotency_outcome_unknown' },
    });
    expect(test.server.context.sandboxes.size).toBe(0);
  });
  it.each([
    ['connectSandbox', '/sandboxes/ID/connect'],
    ['connectSandboxV2', '/v2/sandboxes/ID/connect'],
  ])('409: %s finds the sandbox being killed', async (_operation, path) => {
    const { id } = await createSandbox(test);
    const live = test.server.context.sandboxes.get(id)!;
    const instance = live.instance!;
    const destroy = instance.destroy.bind(instance);
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    instance.destroy = () => held.then(destroy);
    const killed = test.api('DELETE', `/sandboxes/${id}`);
    await eventually('the kill is under way', () => live.transition?.kind === 'killing');
    try {
      const answer = await test.api('POST', path.replace('ID', id), { timeout: 60 });
      expect(answer).toMatchObject({ status: 409, body: { code: 409 } });
      expect(answer.body.message).toContain('is being killed');
    } finally {
      go();
    }
    expect((await killed).status).toBe(204);
  });
});

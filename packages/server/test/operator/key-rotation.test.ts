import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
  await operate('POST', '/teams', { slug: 'research' });
});
afterAll(() => test?.[Symbol.asyncDispose]());

async function operate(method: string, target: string, body?: unknown): Promise<ApiAnswer> {
  const headers = { Authorization: `Bearer ${test.server.operatorToken}` };
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${test.server.operatorUrl}${target}`, { method, headers, ...json });
  const text = await response.text();
  const parsed = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}

const keyOf = async (more: object = {}) => {
  const made = await operate('POST', '/teams/research/api-keys', { name: 'notebooks', ...more });
  expect(made.status).toBe(201);
  return made.body;
};
const rotate = (id: string, body: object = {}) => operate('POST', `/api-keys/${id}/rotate`, body);
const useKey = (key: string) => test.api('GET', '/team', undefined, { 'X-API-Key': key });
const inTheFuture = (ms: number) => new Date(test.server.context.now() + ms).toISOString();
const DAY_MS = 86_400_000;

describe('a rotated key', () => {
  it('works beside its successor until the overlap is over, and then says so', async () => {
    const old = await keyOf();
    const made = await rotate(old.id, { overlapSeconds: 3_600 });
    expect(made).toMatchObject({ status: 201, body: { name: 'notebooks', lastUsed: null } });
    expect(made.body.key).not.toBe(old.key);
    expect(made.body).not.toHaveProperty('expiresAt');
    expect((await useKey(old.key)).status).toBe(200);
    expect((await useKey(made.body.key)).body).toEqual((await useKey(old.key)).body);
    const listed = (await operate('GET', '/teams/research/api-keys')).body;
    const shown = listed.find(({ id }: { id: string }) => id === old.id);
    expect(shown).toMatchObject({ successorID: made.body.id });
    expect(Date.parse(shown.expiresAt) - test.server.context.now()).toBeLessThanOrEqual(3_600_000);

    test.advance(3_600_001);
    const refused = await useKey(old.key);
    expect(refused).toMatchObject({ status: 401, body: { code: 401 } });
    expect(refused.body.message).toBe(
      `API key expired at ${shown.expiresAt}: use its successor, or make a new key`,
    );
    expect((await useKey(made.body.key)).status).toBe(200);
  });

  it('stops at once without an overlap, and after a day when nothing is said', async () => {
    const first = await keyOf();
    expect((await useKey(first.key)).status).toBe(200);
    const second = (await rotate(first.id, { overlapSeconds: 0 })).body;
    expect((await useKey(first.key)).status).toBe(401);
    expect((await rotate(second.id)).status).toBe(201);
    test.advance(DAY_MS - 5_000);
    expect((await useKey(second.key)).status).toBe(200);
    test.advance(5_001);
    expect((await useKey(second.key)).status).toBe(401);
  });

  it('never works longer than it would have', async () => {
    const old = await keyOf({ expiresAt: inTheFuture(60_000) });
    const made = await rotate(old.id, { overlapSeconds: 3_600, expiresAt: inTheFuture(DAY_MS) });
    expect(made.status).toBe(201);
    expect(Date.parse(made.body.expiresAt)).toBeGreaterThan(test.server.context.now() + DAY_MS - 60_000);
    test.advance(60_001);
    expect((await useKey(old.key)).status).toBe(401);
    expect((await useKey(made.body.key)).status).toBe(200);
  });

  it('has one successor, also when it is rotated twice at once', async () => {
    const { id } = await keyOf();
    const both = await Promise.all([rotate(id), rotate(id)]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    const successor = both.find(({ status }) => status === 201)!.body.id;
    expect((await rotate(id)).body.message).toContain(`its successor is ${successor}`);
    const listed = (await operate('GET', '/teams/research/api-keys')).body;
    expect(listed.find((key: { id: string }) => key.id === id).successorID).toBe(successor);
  });

  it('is refused when it does not exist, has expired, or is no identifier', async () => {
    const { id, key } = await keyOf({ expiresAt: inTheFuture(1_000) });
    test.advance(1_001);
    expect(await rotate(id)).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/expired/) },
    });
    expect((await rotate('0b0e2b3c-6d1f-4a55-9c0e-0123456789ab')).status).toBe(404);
    const wrong = await rotate(key);
    expect(wrong.status).toBe(400);
    expect(JSON.stringify(wrong.body)).not.toContain(key);
    const good = await keyOf();
    for (const body of [
      ...[
        { overlapSeconds: -1 },
        { overlapSeconds: 1.5 },
        { overlapSeconds: 31_536_001 },
        { overlapSeconds: '1h' },
      ],
      ...[{ expiresAt: 'soon' }, { expiresAt: inTheFuture(-1_000) }, { expiresAt: '2016-12-31T23:59:60Z' }],
    ]) {
      const answer = await rotate(good.id, body);
      expect([body, answer.status]).toEqual([body, 400]);
    }
    // Nothing was rotated by any of them.
    expect((await rotate(good.id)).status).toBe(201);
  });

  it('leaves an entry of the audit trail that names it and its team, and no key', async () => {
    const old = await keyOf();
    const made = await rotate(old.id);
    await test.server.context.audit.flush();
    const { body } = await operate('GET', `/audit?resource=${old.id}&operation=rotateApiKey`);
    const { teamID } = (await operate('GET', '/teams/research')).body;
    expect(body).toMatchObject([
      { operation: 'rotateApiKey', status: 201, teamID, resource: { kind: 'key' } },
    ]);
    expect(JSON.stringify(body)).not.toContain(made.body.key);
  });
});

describe('a key with an expiry', () => {
  it('may be made by its team, stops by itself over a restart too, and is then not used any more', async () => {
    const made = await test.api('POST', '/api-keys', {
      name: 'for a week',
      expiresAt: inTheFuture(7 * DAY_MS),
    });
    expect(made.status).toBe(201);
    expect((await useKey(made.body.key)).status).toBe(200);
    const used = async () =>
      (await test.api('GET', '/api-keys')).body.find(({ id }: { id: string }) => id === made.body.id);
    expect((await used()).expiresAt).toBe(made.body.expiresAt);
    test.advance(7 * DAY_MS);
    await test.restart();
    const before = await used();
    const refused = await useKey(made.body.key);
    expect(refused).toMatchObject({
      status: 401,
      body: { message: expect.stringMatching(/^API key expired at /) },
    });
    expect(await used()).toEqual(before);
  });

  it('is refused when that is over already', async () => {
    for (const expiresAt of [inTheFuture(-1), '1970-01-01T00:00:00Z', 'never', '2016-12-31T23:59:60Z']) {
      const answer = await test.api('POST', '/api-keys', { name: 'late', expiresAt });
      expect([expiresAt, answer.status]).toEqual([expiresAt, 400]);
    }
    expect((await test.api('GET', '/api-keys')).body.map(({ name }: { name: string }) => name)).not.toContain(
      'late',
    );
  });
});

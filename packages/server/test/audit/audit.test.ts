import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { AuditTrail } from '../../src/api/audit/audit-trail.js';
import type { Act } from '../../src/api/audit/entry.js';
import { listEntries } from '../../src/api/audit/list-entries.js';
import { randomIds } from '../../src/config/ids.js';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test?.[Symbol.asyncDispose]());

async function operate(method: string, target: string, body?: unknown): Promise<ApiAnswer> {
  const headers = { Authorization: `Bearer ${test.server.operatorToken}`, 'X-Request-Id': 'of-the-operator' };
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${test.server.operatorUrl}${target}`, { method, headers, ...json });
  const text = await response.text();
  const parsed = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}

/** Entries that fit, newest first, with the outcomes that are known by now. */
async function entries(query: Record<string, string> = {}): Promise<ApiAnswer['body']> {
  await test.server.context.audit.flush();
  const answer = await operate('GET', `/audit?${new URLSearchParams(query)}`);
  expect(answer.status).toBe(200);
  return answer.body;
}

const ownTeam = async (): Promise<string> => (await test.api('GET', '/team')).body.teamID;

describe('the audit trail', () => {
  it('records the life of a sandbox: who, what, when, from where, and how it ended', async () => {
    const before = Date.now();
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' }, { 'X-Request-Id': 'req-1' });
    expect(made.status).toBe(201);
    const id = made.body.sandboxID as string;
    expect((await test.api('POST', `/sandboxes/${id}/timeout`, { timeout: 60 })).status).toBe(204);
    expect((await test.api('GET', `/sandboxes/${id}`)).status).toBe(200);
    expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(404);

    const found = await entries({ resource: id });
    expect(found.map((entry: ApiAnswer['body']) => [entry.operation, entry.outcome, entry.status])).toEqual([
      ['killSandbox', 'refused', 404],
      ['killSandbox', 'succeeded', 204],
      ['setSandboxTimeout', 'succeeded', 204],
      ['createSandboxV2', 'succeeded', 201],
    ]);
    const created = found.at(-1);
    expect(created).toMatchObject({
      actor: { kind: 'key', id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      resource: { kind: 'sandbox', id },
      teamID: await ownTeam(),
      requestID: 'req-1',
      clientAddress: '127.0.0.1',
      nodeID: test.server.context.config.nodeId,
    });
    expect(Date.parse(created.at)).toBeGreaterThanOrEqual(before);
    expect(created.durationMs).toBeGreaterThanOrEqual(0);
  });

  it('records what the service does to a sandbox by itself', async () => {
    const create = async (more: object = {}) => {
      const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 60, ...more });
      expect(made.status).toBe(201);
      return made.body.sandboxID as string;
    };
    const killed = await create();
    const paused = await create({ autoPause: true });
    test.advance(61_000);
    await test.server.expireDue();
    const last = async (id: string) => (await entries({ resource: id, actor: 'system' }))[0];
    await eventually('the kill has its entry', async () => (await last(killed)) !== undefined);
    await eventually('the pause has its entry', async () => (await last(paused)) !== undefined);
    const actor = { kind: 'system', id: 'timeout' };
    expect(await last(killed)).toMatchObject({ operation: 'killSandbox', actor, outcome: 'succeeded' });
    expect(await last(paused)).toMatchObject({ operation: 'pauseSandbox', actor, teamID: await ownTeam() });
    expect(await last(killed)).not.toHaveProperty('requestID');
    expect((await test.api('DELETE', `/sandboxes/${paused}`)).status).toBe(204);
  });

  it('records what the operator does, and to which team', async () => {
    const team = (await operate('POST', '/teams', { slug: 'seen' })).body;
    const key = (await operate('POST', '/teams/seen/api-keys', { name: 'first' })).body;
    await operate('PATCH', '/teams/seen', { banned: true, blockedReason: null });
    await operate('GET', '/teams/seen/api-keys');
    expect((await operate('POST', '/teams', { slug: 'seen' })).status).toBe(409);
    const found = await entries({ actor: 'operator', limit: '5' });
    expect(found.map((entry: ApiAnswer['body']) => [entry.operation, entry.status, entry.resource])).toEqual([
      ['createTeam', 409, { kind: 'team' }],
      ['listTeamApiKeys', 200, { kind: 'key' }],
      ['updateTeam', 200, { kind: 'team', id: 'seen' }],
      ['createTeamApiKey', 201, { kind: 'key', id: key.id }],
      ['createTeam', 201, { kind: 'team', id: team.teamID }],
    ]);
    expect(found[0]).toMatchObject({ requestID: 'of-the-operator', clientAddress: '127.0.0.1' });
    expect(await entries({ team: 'seen' })).toHaveLength(3);
    expect(await entries({ team: team.teamID })).toHaveLength(3);
  });

  it('holds no value, no key and no name that a client chose', async () => {
    const marks = ['mark-of-a-value', 'MARK_OF_A_NAME', 'mark-of-a-variable', 'mark-of-metadata'];
    const secret = await test.api('POST', '/secrets', { name: marks[1], value: marks[0] });
    expect(secret.status).toBe(201);
    await test.api('POST', `/secrets/${secret.body.secretID}`, { value: marks[0] });
    await test.api('GET', `/secrets/${secret.body.secretID}`);
    await test.api('DELETE', `/secrets/${marks[0]}`);
    await test.api('DELETE', `/api-keys/${test.server.apiKey}`);
    await test.api('DELETE', `/templates/${test.server.apiKey}`);
    const more = { envVars: { A: marks[2] }, metadata: { b: marks[3] } };
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base', ...more });
    await test.api('DELETE', `/sandboxes/${made.body.sandboxID}`);
    await test.server.context.audit.flush();
    const rows = await test.server.context.db.selectFrom('audit_entries').selectAll().execute();
    const text = JSON.stringify(rows);
    for (const mark of [...marks, test.server.apiKey, test.server.operatorToken])
      expect(text).not.toContain(mark);
    const found = await entries({ resource: secret.body.secretID });
    expect(found.map((entry: ApiAnswer['body']) => entry.operation)).toEqual([
      'getSecret',
      'updateSecret',
      'createSecret',
    ]);
  });

  it('cannot be forged by what a client sends', async () => {
    const forged = encodeURIComponent('i1\n{"operation":"createTeam"}');
    const count = (await entries({ limit: '1000' })).length;
    const refused = await test.api('DELETE', `/sandboxes/${forged}`, undefined, {
      'X-Request-Id': 'a word that is none; {}',
      'X-Forwarded-For': '203.0.113.7',
    });
    expect(refused.status).toBe(400);
    const after = await entries({ limit: '1000' });
    expect(after).toHaveLength(count + 1);
    expect(after[0]).toMatchObject({
      operation: 'killSandbox',
      outcome: 'refused',
      clientAddress: '127.0.0.1',
    });
    expect(after[0].resource).toEqual({ kind: 'sandbox' });
    expect(after[0].requestID).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('has no entry of who has no key, nor of a request that makes no sense', async () => {
    const count = (await entries({ limit: '1000' })).length;
    const { apiUrl } = test.server;
    expect((await fetch(`${apiUrl}/sandboxes/i1`, { method: 'DELETE' })).status).toBe(401);
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 7 })).status).toBe(400);
    expect((await operate('DELETE', `/teams/nobody/api-keys/${randomIds.uuid()}`)).status).toBe(404);
    expect(await entries({ limit: '1000' })).toHaveLength(count);
  });

  it('is listed in either order, page by page, by time and outcome', async () => {
    const all = await entries({ limit: '1000' });
    expect(all.length).toBeGreaterThan(10);
    const ids = (list: ApiAnswer['body']) => list.map((entry: ApiAnswer['body']) => entry.id);
    for (const order of ['asc', 'desc']) {
      const seen: string[] = [];
      let token: string | null = null;
      do {
        const page: ApiAnswer = await operate(
          'GET',
          `/audit?limit=4&order=${order}${token === null ? '' : `&nextToken=${token}`}`,
        );
        expect(page.status).toBe(200);
        seen.push(...ids(page.body));
        token = page.headers.get('x-next-token');
      } while (token !== null);
      expect(order === 'asc' ? seen.reverse() : seen).toEqual(ids(all));
    }
    const middle = all[5].at;
    const later = await entries({ limit: '1000', from: middle });
    const earlier = await entries({ limit: '1000', until: middle });
    expect([...ids(later), ...ids(earlier)]).toEqual(ids(all));
    const refused = await entries({ limit: '1000', outcome: 'refused' });
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((entry: ApiAnswer['body']) => entry.status >= 400 && entry.status < 500)).toBe(true);
    const killed = await entries({ operation: 'killSandbox', outcome: 'succeeded' });
    expect(new Set(killed.map((entry: ApiAnswer['body']) => entry.operation))).toEqual(
      new Set(['killSandbox']),
    );
  });

  it('refuses filters that make no sense', async () => {
    for (const query of [
      ...[
        'limit=0',
        'limit=1001',
        'limit=x',
        'order=sideways',
        'outcome=odd',
        'from=yesterday',
        'nextToken=zz',
      ],
      ...['nextToken=%00', 'team='],
    ]) {
      const { status, body } = await operate('GET', `/audit?${query}`);
      expect([query, status]).toEqual([query, 400]);
      expect(body.message).not.toBe('');
    }
    expect(await operate('GET', '/audit?team=nobody')).toMatchObject({ status: 404 });
    expect((await operate('DELETE', '/audit')).status).toBe(405);
  });

  it('is kept over a restart, with the outcome of what was under way at its end', async () => {
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    await test.restart();
    const found = await entries({ resource: made.body.sandboxID });
    expect(found.at(-1)).toMatchObject({ operation: 'createSandboxV2', status: 201 });
    expect((await test.api('DELETE', `/sandboxes/${made.body.sandboxID}`)).status).toBe(204);
  });
});

describe('a trail on the database', () => {
  const act = (more: Partial<Act> = {}): Act => ({
    actor: { kind: 'system', reason: 'ended' },
    operation: 'killSandbox',
    resource: { kind: 'sandbox', id: 'trail' },
    ...more,
  });
  const trail = (now: () => number = () => Date.now()) => {
    const { db, log } = test.server.context;
    return new AuditTrail({ db, ids: randomIds, nodeId: 'n', now, log });
  };
  const read = (resourceId: string) =>
    listEntries(test.server.context, { filter: { resourceId }, limit: 1_000, order: 'asc' });

  it('shows an act that has begun, so that one which breaks off leaves its entry', async () => {
    const audit = trail();
    const entry = await audit.begin(act({ resource: { kind: 'sandbox', id: 'broken-off' } }));
    const { rows } = await read('broken-off');
    expect(rows).toMatchObject([{ status: null, finished_at: null, operation: 'killSandbox' }]);
    entry.finish(504);
    await audit.close();
    expect((await read('broken-off')).rows).toMatchObject([{ status: 504 }]);
  });

  it('writes many outcomes at once, each to its own entry', async () => {
    const audit = trail();
    const open = await Promise.all(
      Array.from({ length: 100 }, (_, n) => audit.begin(act({ requestId: `many-${n}` }))),
    );
    open.forEach((entry, n) => {
      entry.finish(200 + n);
    });
    await audit.flush();
    const { rows } = await read('trail');
    expect(rows).toHaveLength(100);
    for (const row of rows) expect(row.status).toBe(200 + Number(row.request_id?.slice('many-'.length)));
  });

  it('lets nothing begin that it cannot put down', async () => {
    const ids = { ...randomIds, hex: () => '0'.repeat(20) };
    const { db, log } = test.server.context;
    const audit = new AuditTrail({ db, ids, nodeId: 'n', now: () => 1, log });
    await audit.begin(act());
    await expect(audit.begin(act())).rejects.toThrow();
  });

  it('passes entries that do not fit, however many, by pages that may be empty', async () => {
    const { db } = test.server.context;
    const audit = trail(() => 1_000_000_000_000);
    const one = await audit.begin(
      act({ resource: { kind: 'sandbox', id: 'rare' }, operation: 'resumeSandbox' }),
    );
    one.finish(204);
    await audit.close();
    const row = (await read('rare')).rows[0]!;
    const many = Array.from({ length: 2_500 }, (_, n) => ({
      ...row,
      id: `${row.id.slice(0, -4)}${(n + 1).toString(16).padStart(4, '0')}`.replace(/^.{8}/, 'ffffff00'),
      operation: 'pauseSandbox',
    }));
    for (let at = 0; at < many.length; at += 500)
      await db
        .insertInto('audit_entries')
        .values(many.slice(at, at + 500))
        .execute();
    const filter = { resourceId: 'rare', operation: 'resumeSandbox' };
    const page = await listEntries(test.server.context, { filter, limit: 10, order: 'desc' });
    expect(page.rows.map(({ id }) => id)).toEqual([row.id]);
    await db.deleteFrom('audit_entries').where('resource_id', '=', 'rare').execute();
  });
});

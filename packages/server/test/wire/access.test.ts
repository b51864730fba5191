import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPlatformDocument } from '../../src/api/document.js';
import { platformRoutes } from '../../src/api/route-table.js';
import { startTestServer, type TestServer } from '../support/server.js';

const routes = platformRoutes(readPlatformDocument()).filter((route) => route.secured);
let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

const setTeam = async (values: { banned: number; blocked: number; blocked_reason: string | null }) => {
  await test.server.context.db.updateTable('teams').set(values).execute();
  test.server.context.teams.invalidate();
};
const ask = (route: (typeof routes)[number]) => {
  const target = route.path.replaceAll(/\{[^}]+\}/g, 'iunknown');
  return test.api(route.method, target, route.bodyTypes.includes('application/json') ? {} : undefined);
};

describe('every secured operation', () => {
  it('refuses a banned team with 403, before it looks at anything else', async () => {
    await setTeam({ banned: 1, blocked: 0, blocked_reason: null });
    for (const route of routes)
      expect([route.operationId, await ask(route)]).toMatchObject([
        route.operationId,
        { status: 403, body: { code: 403, message: 'team is banned' } },
      ]);
  });
  it('lets a blocked team through exactly where the document says so, else gives 403 with the reason', async () => {
    await setTeam({ banned: 0, blocked: 1, blocked_reason: 'unpaid' });
    const open: string[] = [];
    for (const route of routes) {
      const answer = await ask(route);
      if (answer.body?.message === 'team is blocked: unpaid') {
        expect([route.operationId, answer.status]).toEqual([route.operationId, 403]);
        continue;
      }
      open.push(route.operationId);
    }
    const documented = routes
      .filter((route) => route.rules.allowedWhenBlocked === true)
      .map((route) => route.operationId);
    expect(documented.length).toBeGreaterThan(0);
    expect(open.sort()).toEqual(documented.sort());
  });
  it('refuses requests without a key with 401', async () => {
    await setTeam({ banned: 0, blocked: 0, blocked_reason: null });
    for (const route of routes) {
      const target = route.path.replaceAll(/\{[^}]+\}/g, 'iunknown');
      const { status } = await fetch(`${test.server.apiUrl}${target}`, { method: route.method });
      expect([route.operationId, status]).toEqual([route.operationId, 401]);
    }
  });
});

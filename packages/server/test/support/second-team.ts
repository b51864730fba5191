import { randomUUID } from 'node:crypto';
import { toJson } from '../../src/storage/json.js';
import { createApiKey } from '../../src/teams/create-api-key.js';
import type { TestServer } from './server.js';

/** Makes another team. @returns headers that speak for it */
export async function secondTeam(
  test: TestServer,
  slug: string,
  limits: Record<string, number> = {},
): Promise<{ id: string; headers: Record<string, string> }> {
  const { context } = test.server;
  const id = randomUUID();
  await context.db
    .insertInto('teams')
    .values({
      id,
      slug,
      name: slug,
      limits: toJson(limits),
      flags: toJson({}),
      banned: 0,
      blocked: 0,
      blocked_reason: null,
      created_at: context.now(),
    })
    .execute();
  const { key } = await createApiKey(context, id, 'test');
  return { id, headers: { 'X-API-Key': key } };
}

import { createApiKey } from '../../src/teams/api-keys.js';
import type { LimitsChange } from '../../src/teams/records.js';
import { createTeam } from '../../src/teams/records.js';
import type { TestServer } from './server.js';

/** Makes another team. @returns headers that speak for it */
export async function secondTeam(
  test: TestServer,
  slug: string,
  limits: LimitsChange = {},
): Promise<{ id: string; headers: Record<string, string> }> {
  const { context } = test.server;
  const { id } = await createTeam(context, { slug, limits });
  const { key } = await createApiKey(context, id, { name: 'test' });
  return { id, headers: { 'X-API-Key': key } };
}

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Server } from '@svc/server';
import type { TeamOptions, TestTeam } from './target.js';

/** Makes a team with a key straight in the server's store: the API has no operation for it. */
export async function createTeam(server: Server, options: TeamOptions = {}): Promise<TestTeam> {
  const { db, teams } = server.context;
  const teamId = randomUUID();
  const slug = `team-${randomBytes(6).toString('hex')}`;
  const secret = randomBytes(20);
  await db
    .insertInto('teams')
    .values({
      id: teamId,
      slug,
      name: slug,
      limits: JSON.stringify(options.limits ?? {}),
      flags: JSON.stringify({ egressProxy: options.egressProxy ?? false }),
      banned: 0,
      blocked: 0,
      blocked_reason: null,
      created_at: Date.now(),
    })
    .execute();
  await db
    .insertInto('api_keys')
    .values({
      id: randomUUID(),
      team_id: teamId,
      name: 'conformance',
      hash: createHash('sha256').update(secret).digest('hex'),
      mask: JSON.stringify({
        prefix: 'svc_',
        valueLength: 40,
        maskedValuePrefix: 'aa',
        maskedValueSuffix: 'aaaa',
      }),
      created_at: Date.now(),
      last_used_at: null,
    })
    .execute();
  const change = async (values: { banned?: number; blocked?: number; blocked_reason?: string | null }) => {
    await db.updateTable('teams').set(values).where('id', '=', teamId).execute();
    teams.invalidate();
  };
  return {
    teamId,
    slug,
    apiUrl: server.apiUrl,
    apiKey: `svc_${secret.toString('hex')}`,
    ban: () => change({ banned: 1 }),
    block: (reason) => change({ blocked: 1, blocked_reason: reason }),
  };
}

import { randomBytes } from 'node:crypto';
import { createOperatorClient, type TeamChange } from '@svc/platform/operator';
import type { Server } from '@svc/server';
import type { TeamOptions, TestTeam } from './target.js';

/** Makes a team with a key, as an operator does: on the operator port. */
export async function createTeam(
  server: Pick<Server, 'apiUrl' | 'operatorUrl' | 'operatorToken'>,
  options: TeamOptions = {},
): Promise<TestTeam> {
  const { operatorUrl, operatorToken: token, apiUrl } = server;
  if (operatorUrl === undefined) throw new Error('the server of this test has no operator port');
  const operator = createOperatorClient({ baseUrl: operatorUrl, token });
  const slug = `team-${randomBytes(6).toString('hex')}`;
  const { maxMemoryMiB: maxMemoryMB, ...limits } = options.limits ?? {};
  const settings = {
    limits: { ...limits, ...(maxMemoryMB === undefined ? {} : { maxMemoryMB }) },
    features: { egressProxy: options.egressProxy ?? false },
  };
  const team = must(await operator.POST('/teams', { body: { slug, ...settings } }));
  const path = { team: team.teamID };
  const body = { name: 'conformance' };
  const { key } = must(await operator.POST('/teams/{team}/api-keys', { params: { path }, body }));
  const change = async (changed: TeamChange) => {
    must(await operator.PATCH('/teams/{team}', { params: { path }, body: changed }));
  };
  return {
    teamId: team.teamID,
    slug,
    apiUrl,
    apiKey: key,
    ban: () => change({ banned: true }),
    block: (reason) => change({ blocked: true, blockedReason: reason || null }),
  };
}

/** Returns the answer of the operator port, or throws. */
function must<Data>({ data, response }: { data?: Data; response: Response }): Data {
  if (data === undefined) throw new Error(`the operator port answered ${response.status}`);
  return data;
}

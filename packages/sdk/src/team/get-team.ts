import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import type { Team } from './team.js';
import { fromTeam } from './wire.js';

export async function getTeam(core: ClientCore, options: RequestOptions): Promise<Team> {
  const context = { operation: 'client.team', resource: 'team', options } as const;
  const data = await core.platform.call(context, (platform, fetch) => platform.GET('/team', { fetch }));
  return fromTeam(data);
}

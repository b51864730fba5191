import type { ApiKeys } from '@svc/sdk';
import type { Cli } from '../../cli/cli.js';

/** What both clients can do with keys. */
export type Keys = Pick<ApiKeys, 'list' | 'create' | 'delete'>;

/** Help of `--team`. */
export const teamHelp =
  'keys of this team, through the operator port (default: those of the team of your own key)';

/** Keys of the caller's own team, or, for operators, of any. */
export async function keysOf(
  cli: Cli,
  team: string | undefined,
  use: { destroys?: boolean } = {},
): Promise<Keys> {
  if (team === undefined) return (await cli.client(use)).apiKeys;
  const { keys } = (await cli.operator(use)).teams;
  return {
    list: (options) => keys.list(team, options),
    create: (name, options) => keys.create(team, name, options),
    delete: (apiKeyId, options) => keys.delete(team, apiKeyId, options),
  };
}

import type { OperatedTeam } from '@svc/sdk/operator';
import { Foreign, State } from '../parts/text.js';

/** Shows if a team is banned or blocked, and the reason. */
export function Standing({ team }: { team: Pick<OperatedTeam, 'banned' | 'blocked' | 'blockedReason'> }) {
  const { banned, blocked, blockedReason } = team;
  return (
    <span>
      <State state={banned ? 'banned' : blocked ? 'blocked' : 'active'} />{' '}
      {blockedReason !== undefined && <Foreign text={blockedReason} longest={80} />}
    </span>
  );
}

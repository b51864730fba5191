/** Attempts that are under way or about to be, of whom. */
export interface Attempting {
  webhookId: string;
  teamId: string;
}

/**
 * Divides free slots among webhooks that have something due: one after the other, each to the webhook of the team that has
 * fewest, and of those to the one that has fewest itself.
 *
 * A webhook gets one more only while it has, together with its team, fewer than are free. So one that does not answer takes a
 * third of all slots at most, all of its team's a half, and those of many such teams leave some to the next one.
 * @param due webhooks in the order that decides between equal ones
 * @param underWay what is under way on this server, once for each attempt
 * @param slots of all: free ones and those under way
 * @returns how many attempts each may begin at most; webhooks that may begin none are not in it
 */
export function giveTurns(
  due: readonly Attempting[],
  underWay: readonly Attempting[],
  slots: number,
): Map<string, number> {
  const ofTeam = new Map<string, number>();
  const ofWebhook = new Map<string, number>();
  const given = new Map<string, number>();
  const take = ({ webhookId, teamId }: Attempting) => {
    ofTeam.set(teamId, (ofTeam.get(teamId) ?? 0) + 1);
    ofWebhook.set(webhookId, (ofWebhook.get(webhookId) ?? 0) + 1);
  };
  const load = ({ webhookId, teamId }: Attempting) => ({
    team: ofTeam.get(teamId) ?? 0,
    webhook: ofWebhook.get(webhookId) ?? 0,
  });
  for (const one of underWay) take(one);
  for (let free = slots - underWay.length; free > 0; free--) {
    let next: Attempting | undefined;
    for (const one of due) {
      const { team, webhook } = load(one);
      if (team + webhook >= free) continue;
      const best = next === undefined ? undefined : load(next);
      if (best === undefined || team < best.team || (team === best.team && webhook < best.webhook))
        next = one;
    }
    if (next === undefined) break;
    take(next);
    given.set(next.webhookId, (given.get(next.webhookId) ?? 0) + 1);
  }
  return given;
}

import { egressIsUsed } from '../../teams/quota/egress-month.js';
import type { Uses } from '../context.js';
import { enforceEgress } from '../start/enforce-egress.js';
import { inNetworkTurn, setNetworkMode } from '../start/network-mode.js';
import type { LiveSandbox } from '../state/live.js';

type Ports = Uses<
  'config' | 'db' | 'driver' | 'egress' | 'egressLimits' | 'keys' | 'log' | 'now' | 'sandboxes' | 'teams'
>;

/**
 * Keeps running sandboxes of teams that sent as much this month as they may from sending, and lets them again when a limit was
 * raised or the month is over. Their own settings stay as they are. What fails for one is tried again the next time.
 */
export async function enforceEgressLimits(context: Ports): Promise<void> {
  const { db, driver, egressLimits, log, sandboxes, teams } = context;
  if (!driver.capabilities.networkIsolation) return;
  const running = [...sandboxes.values()].filter(({ instance }) => instance !== undefined);
  const ids = [...new Set(running.map(({ row }) => row.team_id))];
  const rows =
    ids.length === 0 ? [] : await db.selectFrom('teams').selectAll().where('id', 'in', ids).execute();
  const used = new Set<string>();
  for (const row of rows) if (await egressIsUsed(context, teams.toTeam(row))) used.add(row.id);
  egressLimits.used = used;
  await Promise.all(
    running.map((live) =>
      inNetworkTurn(live, () => follow(context, live)).catch((error: unknown) =>
        log.warn({ err: error, sandboxId: live.row.id }, 'the egress limit of a team is not in force yet'),
      ),
    ),
  );
}

/**
 * Makes one sandbox follow the limit of its team. What may send again waits for the next time while something else is done to
 * the sandbox; what may not does not wait, or a team that takes one snapshot after another would send on.
 */
async function follow(context: Ports, live: LiveSandbox): Promise<void> {
  const { row, instance } = live;
  if (instance === undefined || live.deleted) return;
  const cut = context.egressLimits.isUsed(row.team_id);
  if (cut === context.egressLimits.isCut(instance)) return;
  if (!cut && (live.transition !== undefined || row.state !== 'running')) return;
  try {
    // The policy comes first, so that nothing that it allows is refused for want of it.
    if (!cut) await enforceEgress(context, row, instance);
    await setNetworkMode(context, row, instance);
  } catch (error) {
    if (live.instance === instance && live.transition === undefined) throw error;
  }
}

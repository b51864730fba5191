import type { EgressReport } from '@svc/egress';
import type { TrafficObserver } from '../../network/egress/start-egress.js';
import type { UsageMeter } from '../../teams/usage/usage-meter.js';
import type { Uses } from '../context.js';
import type { LogEntry } from '../daemon/log-page.js';
import type { LiveSandboxes } from '../state/live.js';
import { addToLog } from './collect-logs.js';

/** Lines of one batch for one sandbox, which is in one batch a second at most. */
const MOST = 20;

type Entry = Omit<LogEntry, 'seq'>;

type Ports = Uses<'config' | 'db' | 'log' | 'now' | 'sandboxes' | 'usage'>;

/** Meters what left sandboxes, and writes what they were refused to their logs. @param context is read late */
export function egressObserver(context: () => Ports): TrafficObserver {
  return {
    onSent: (instanceId, bytes) => countSent(context(), instanceId, bytes),
    onDenied: (reports) => logDenied(context(), reports),
  };
}

/** Writes to the log of each sandbox, at level `warn`, which connections it was refused. */
async function logDenied(
  context: Uses<'config' | 'db' | 'log' | 'now' | 'sandboxes'>,
  reports: readonly EgressReport[],
): Promise<void> {
  const bySandbox = groupBySandbox(reports);
  for (const [sandboxId, denied] of bySandbox) {
    const live = context.sandboxes.get(sandboxId);
    if (live === undefined || live.deleted) continue;
    const entries: Entry[] = denied.slice(0, MOST).map(toEntry);
    const more = denied.length - entries.length;
    if (more > 0)
      entries.push({
        at: denied.at(-1)!.at.getTime(),
        level: 'warn',
        message: `egress denied: ${more} further destinations within a second`,
        fields: { source: 'egress' },
      });
    await addToLog(context, live, entries).catch((error: unknown) => {
      context.log.debug({ err: error, sandboxId }, 'denied attempts could not be logged');
    });
  }
}

function groupBySandbox(reports: readonly EgressReport[]): Map<string, EgressReport[]> {
  const groups = new Map<string, EgressReport[]>();
  for (const report of reports) {
    if (report.outcome !== 'denied' || report.attempts === 0) continue;
    const group = groups.get(report.sandboxId);
    if (group === undefined) groups.set(report.sandboxId, [report]);
    else group.push(report);
  }
  return groups;
}

function toEntry({ host, address, port, rule, attempts, at }: EgressReport): Entry {
  const place = host ?? address;
  const times = attempts > 1 ? `, ${attempts} times` : '';
  const what = place === undefined ? `packets refused: ${rule}` : `${place} port ${port}, by ${rule}`;
  return {
    at: at.getTime(),
    level: 'warn',
    message: `egress denied: ${what}${times}`,
    fields: {
      source: 'egress',
      ...(host === undefined ? {} : { host }),
      ...(address === undefined ? {} : { address }),
      port: String(port),
      rule,
      attempts: String(attempts),
    },
  };
}

/** Counts bytes that left a sandbox or a build, also of one that ended lately. Of others nobody knows whose they are. */
function countSent(
  { sandboxes, usage }: { sandboxes: LiveSandboxes; usage: UsageMeter },
  sandboxId: string,
  bytes: number,
): void {
  const teamId = sandboxes.get(sandboxId)?.row.team_id ?? usage.teamOf(sandboxId);
  if (teamId !== undefined) usage.sent(teamId, bytes);
}

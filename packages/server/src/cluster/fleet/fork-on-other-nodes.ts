import type { NodeRecord } from '../../api/context/nodes.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import type { ForkOnOtherNodes, ForksLeft } from '../../sandboxes/change/fork.js';
import type { SandboxPorts } from '../../sandboxes/context.js';
import { isFull } from '../../sandboxes/start/placement-error.js';
import type { ForkOutcome } from '../../sandboxes/start/start-forks.js';
import { configOf } from '../../sandboxes/state/config.js';
import type { SandboxRow } from '../../sandboxes/state/live.js';
import { forecastTeamRoom } from '../../teams/quota/team-room.js';
import type { Uses } from '../context.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { readAnswer } from '../nodes/read-answer.js';
import { misfitOf } from './destinations.js';
import { endForks, type UnclaimedForks } from './end-forks.js';
import { forkCallUrl, readError, readForkAnswer } from './fork-call.js';
import { spreadForks } from './spread-forks.js';

/** Most rounds in which forks that a node did not start go to others. */
const MOST_ROUNDS = 3;
/** Largest answer of a node about forks, bytes. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** Forks that could not be ended are tried again after 1 s first, and so often at least, ms. */
const MAX_END_DELAY_MS = 60_000;

type Ports = SandboxPorts & Uses<'copies' | 'fleet' | 'nodes' | 'retries'>;

/** The outcome of the forks that one node was asked for. */
interface Part {
  outcomes: ForkOutcome[];
  /** The number of those that another node may start. */
  refused: number;
  unclaimed: string[];
  /** Those that have an outcome, and run. */
  made: string[];
}

/**
 * Has other nodes start forks of a sandbox of this one, each from a copy of its checkpoint: those that new sandboxes would go to, of
 * those that can resume its memory. Forks that one of them does not start go to the next.
 */
export async function forkOnOtherNodes(context: Ports, left: ForksLeft): ReturnType<ForkOnOtherNodes> {
  const outcomes: ForkOutcome[] = [];
  const unclaimed: UnclaimedForks[] = [];
  const made: UnclaimedForks[] = [];
  let count = left.count;
  try {
    // A copy for nothing is dear.
    const { fitting, refusal } = await forecastTeamRoom(context.db, left.team, {
      count,
      memory_mb: left.source.memory_mb,
    });
    if (refusal !== undefined) outcomes.push(...Array(count - fitting).fill(refusal));
    count = fitting;
    const excluded = new Set<string>();
    const machine = context.driver.transfers?.machine;
    // The division of the forks considers which of them have room.
    const cargo = { memory: true, memoryMiB: left.source.memory_mb, runs: false };
    for (let round = 0; round < MOST_ROUNDS && count > 0 && !left.signal.aborted; round += 1) {
      const members = (await context.fleet.places()).filter(
        ({ record, place }) =>
          !place.here && !excluded.has(record.id) && misfitOf(machine, place, cargo) === undefined,
      );
      const counts = spreadForks(
        count,
        members.map(({ place }) => place),
        left.source.memory_mb,
      );
      const parts = await Promise.all(
        [...counts].map(async ([nodeId, asked]) => {
          const { record } = members.find((member) => member.record.id === nodeId)!;
          const part = await askNode(context, left, record, asked);
          if (part.refused > 0) excluded.add(nodeId);
          return { nodeId, ...part };
        }),
      );
      for (const { nodeId, ...part } of parts) {
        outcomes.push(...part.outcomes);
        unclaimed.push({ nodeId, sandboxIds: part.unclaimed });
        made.push({ nodeId, sandboxIds: part.made });
        count -= part.outcomes.length;
      }
    }
  } catch (error) {
    context.log.error({ err: error, sandboxId: left.source.id }, 'forks could not be given to other nodes');
  }
  outcomes.push(...Array(count).fill(left.signal.aborted ? errors.placementTimeout(1) : left.full));
  return {
    outcomes,
    endOthers: (which) => {
      for (const forks of which === 'all' ? [...unclaimed, ...made] : unclaimed)
        if (forks.sandboxIds.length > 0)
          context.retries.add(`end forks ${forks.sandboxIds[0]}`, () => endForks(context, forks), {
            ...{ atOnce: true, maxDelayMs: MAX_END_DELAY_MS },
          });
    },
  };
}

/** Has one node start some of the forks. Never rejects. */
async function askNode(context: Ports, left: ForksLeft, node: NodeRecord, count: number): Promise<Part> {
  const { copies, fleet, ids, log } = context;
  const sandboxIds = Array.from({ length: count }, () => ids.sandboxId());
  const askedAtMs = performance.now();
  try {
    const answer = await copies.forwarder.open(node, {
      method: 'POST',
      url: forkCallUrl({
        ...{ sandboxIds, checkpointId: left.checkpointId },
        ...{ timeoutSeconds: left.timeoutSeconds, logsFrom: left.logsFrom },
        // Its answer has to be here in time.
        withinMs: Math.max(0, Math.floor((left.endsAtMs - askedAtMs) * 0.9)),
      }),
      signal: left.signal,
    });
    const text = (await readAnswer(answer, MAX_ANSWER_BYTES)).toString('utf8');
    if (answer.statusCode !== 200) throw readError(JSON.parse(text));
    const entries = readForkAnswer(text, sandboxIds);
    const made = sandboxIds.filter((_, index) => entries[index] === true);
    const rows = await readMade(context, left, { node, made, askedAtMs });
    const outcomes = [...rows.values(), ...entries.filter(isFinal)];
    for (const _ of rows.keys()) await fleet.sent(node.id);
    return {
      outcomes,
      refused: count - outcomes.length,
      unclaimed: sandboxIds.filter((id) => !rows.has(id)),
      made: [...rows.keys()],
    };
  } catch (error) {
    if (NodeUnreachableError.is(error)) fleet.avoid(node.id);
    log.warn({ err: error, forkedOnNodeId: node.id, count }, 'a node did not start forks');
    return { outcomes: [], refused: count, unclaimed: sandboxIds, made: [] };
  }
}

/** Returns whether a fork failed in a way that it would on any node. */
function isFinal(entry: true | ApiError): entry is ApiError {
  return ApiError.is(entry) && !isFull(entry) && entry.errorCode !== 'sandbox_no_compatible_node';
}

/**
 * The records of forks that a node says to have started. One without a record was not, unless its time may be over already.
 * @returns by id
 */
async function readMade(
  { db }: Uses<'db'>,
  { source, timeoutSeconds }: ForksLeft,
  { node, made, askedAtMs }: { node: NodeRecord; made: string[]; askedAtMs: number },
): Promise<Map<string, SandboxRow>> {
  if (made.length === 0) return new Map();
  const found = await db.selectFrom('sandboxes').selectAll().where('id', 'in', made).execute();
  const mayHaveEnded = performance.now() - askedAtMs >= timeoutSeconds * 1000;
  const rows = new Map<string, SandboxRow>();
  for (const id of made) {
    const row = found.find((each) => each.id === id);
    if (row === undefined && mayHaveEnded) rows.set(id, { ...source, id, node_id: node.id });
    if (row !== undefined && isFork(row, source, node)) rows.set(id, row);
  }
  return rows;
}

function isFork(row: SandboxRow, source: SandboxRow, node: NodeRecord): boolean {
  return (
    row.team_id === source.team_id &&
    row.node_id === node.id &&
    row.state !== 'creating' &&
    configOf(row).forkedFrom === source.id
  );
}

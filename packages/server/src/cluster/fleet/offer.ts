import type { IncomingMessage } from 'node:http';
import { anyOf } from '#support/any-of';
import type { NodeRecord } from '../../api/context/nodes.js';
import { ApiError } from '../../api/errors/api-error.js';
import type { Uses } from '../context.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { readAnswer } from '../nodes/read-answer.js';

/** Bytes per ms that extend the time limit of another node. */
const BYTES_PER_MS = 4 * 2 ** 10;
/** Bytes of a refusal that are read, and characters of it that are shown. */
const REFUSAL_BYTES = 8 * 2 ** 10;
const REFUSAL_SHOWN = 300;

export interface Offer {
  /** The nodes to ask, in turn. */
  nodes: readonly NodeRecord[];
  /** Path of the internal call. */
  path: string;
  /** Least time limit for a node, ms: what the sandbox stands on may have to be copied first. Default half an hour. */
  leastMs?: number;
  /** Size of its stored objects, which extends the time limit. */
  sizeBytes: number;
  /** Reads which node has it; undefined: it was deleted. */
  home: () => Promise<string | undefined>;
  /** Aborts: nobody else is asked. */
  signal: AbortSignal;
}

/** `node`: has it now. `refusals`: why nobody does, a clause for each that was asked. */
export type Offered = { node: NodeRecord } | { node: undefined; refusals: string[] };

/**
 * Asks other nodes in turn to take something over, until the records say that one has it.
 * Their answers are for the log alone: one that lies, or falls silent after it took the sandbox, changes nothing.
 */
export async function offer(
  context: Uses<'copies' | 'fleet' | 'log'>,
  { nodes, path, sizeBytes, leastMs = 1_800_000, home, signal }: Offer,
): Promise<Offered> {
  const { copies, fleet, log } = context;
  const refusals: string[] = [];
  for (const node of nodes) {
    if (signal.aborted) break;
    const bound = anyOf([signal, AbortSignal.timeout(leastMs + Math.ceil(sizeBytes / BYTES_PER_MS))]);
    let refusal = 'it says that it has it, and has it not';
    try {
      const answer = await copies.forwarder.open(node, { method: 'POST', url: path, signal: bound });
      if (answer.statusCode === 204) answer.destroy();
      else throw new ApiError({ status: 503, message: await refusalOf(answer) });
    } catch (error) {
      log.warn({ err: error, path, toNodeId: node.id }, 'another server did not accept an offer');
      if (NodeUnreachableError.is(error)) fleet.avoid(node.id);
      refusal = ApiError.is(error) ? error.message : 'it does not answer';
    }
    const now = await home();
    if (now === node.id) return { node };
    refusals.push(`server ${node.id}: ${refusal}`);
    if (now === undefined) break;
  }
  return { node: undefined, refusals };
}

/** Reads the reason of a refusal, as far as that is a text. */
async function refusalOf(answer: IncomingMessage): Promise<string> {
  try {
    const text = (await readAnswer(answer, REFUSAL_BYTES)).toString('utf8');
    const { message } = (JSON.parse(text) ?? {}) as { message?: unknown };
    if (typeof message === 'string') return message.replace(/\p{Cc}+/gu, ' ').slice(0, REFUSAL_SHOWN);
  } catch {
    // It says nothing that can be read.
  } finally {
    answer.destroy();
  }
  return `it refuses (${answer.statusCode})`;
}

import { timingSafeEqual } from 'node:crypto';
import type { KeyRing } from '../../storage/keys/key-ring.js';

/** Header that a request from node to node carries; nobody else can make it. Lower case. */
export const NODE_HEADER = 'svc-node-request';

/** Longest age of a token, ms: the clocks of nodes may differ by this much. */
const VALID_MS = 60_000;

export interface NodeRequest {
  /** Node that sends. */
  from: string;
  /** Node that is meant. */
  to: string;
  method: string;
  /** Path with query. */
  url: string;
}

/** The header's value: sender, receiver, time and a MAC by the key that the nodes share. */
export function issueNodeToken(keys: KeyRing, request: NodeRequest, nowMs: number): string {
  return `${request.from}.${request.to}.${nowMs}.${macOf(keys, request, nowMs)}`;
}

/**
 * Returns whether a request comes from a node, for any node: one that arrives at the wrong address must not be
 * passed on again either, or it would go round and round.
 */
export function isFromNode(
  keys: KeyRing,
  token: string | string[] | undefined,
  request: Pick<NodeRequest, 'method' | 'url'>,
  nowMs: number,
): boolean {
  const [from, to, time, mac, ...more] = (typeof token === 'string' ? token : '').split('.');
  if (from === undefined || to === undefined || time === undefined || mac === undefined || more.length > 0)
    return false;
  if (!/^\d{1,15}$/.test(time) || Math.abs(nowMs - Number(time)) > VALID_MS) return false;
  const wanted = Buffer.from(macOf(keys, { ...request, from, to }, Number(time)));
  const given = Buffer.from(mac);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function macOf(keys: KeyRing, { from, to, method, url }: NodeRequest, timeMs: number): string {
  return keys.sign('node-request', JSON.stringify([from, to, timeMs, method, url]));
}

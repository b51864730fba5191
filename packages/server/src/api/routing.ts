import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Team } from './auth/team-store.js';
import type { NodeRecord } from './context/nodes.js';
import type { AnyResult } from './operations.js';
import type { RouteEntry } from './route-table.js';

/** A request, and what is known of it. */
export interface RoutedRequest {
  route: RouteEntry;
  request: FastifyRequest;
  team: Team | undefined;
  signal: AbortSignal;
}

/** The answer of the node that a request was passed on to. */
export interface PassedOn {
  passedOn: true;
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** Decides which node answers a request, and has it answered there. */
export interface RequestRouting {
  /** Whether another node passed this request on. */
  comesFromNode(request: IncomingMessage): boolean;
  answer(request: RoutedRequest, here: () => AnyResult | Promise<AnyResult>): Promise<AnyResult | PassedOn>;
  passOnOf(
    request: FastifyRequest,
    signal: AbortSignal,
  ): ((node: NodeRecord) => Promise<AnyResult>) | undefined;
}

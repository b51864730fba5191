import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Team } from './auth/team-store.js';
import type { AnyResult } from './operations.js';
import type { RouteEntry } from './route-table.js';

/** A request that was checked, and what is known of it. */
export interface RoutedRequest {
  route: RouteEntry;
  request: FastifyRequest;
  team: Team | undefined;
  signal: AbortSignal;
}

/** Decides which node answers a request, and has it answered there. */
export interface NodeRouting {
  /** True for a request that another node passed on. */
  comesFromNode(request: IncomingMessage): boolean;
  /** @param here answers the request on this node */
  answer(request: RoutedRequest, here: () => AnyResult | Promise<AnyResult>): Promise<AnyResult>;
}

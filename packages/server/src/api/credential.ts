import type { FastifyReply, FastifyRequest } from 'fastify';
import { authenticate } from '../auth/authenticate.js';
import type { Identity, TeamStore } from '../auth/team-store.js';
import { closeUnread } from '../http/close-unread.js';
import type { ConnectionGuard } from '../limits/connections.js';
import type { RouteEntry } from './route-table.js';

export interface CredentialOptions {
  teams: TeamStore;
  route: Pick<RouteEntry, 'secured' | 'allowedWhenBlocked'>;
  /** Told of connections over which a valid key came. */
  connections?: ConnectionGuard | undefined;
}

/** Finds out who sends the requests of one operation. */
export class CredentialCheck {
  readonly #options: CredentialOptions;
  readonly #identities = new WeakMap<FastifyRequest, Identity>();

  constructor(options: CredentialOptions) {
    this.#options = options;
  }

  /** @throws {ApiError} 401, 403 */
  async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { teams, route, connections } = this.#options;
    if (!route.secured) return;
    try {
      const key = request.headers['x-api-key'];
      this.#identities.set(request, await authenticate(teams, key, route.allowedWhenBlocked));
    } catch (error) {
      if (connections !== undefined) reply.header('Keep-Alive', connections.strangersKeepAlive);
      closeUnread(request, reply);
      throw error;
    }
    connections?.trust(request.raw.socket);
  }

  /** Who sent a request that was checked; undefined when its operation asks for no credential. */
  identityOf(request: FastifyRequest): Identity | undefined {
    return this.#identities.get(request);
  }
}

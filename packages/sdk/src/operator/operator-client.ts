import { createOperatorClient } from '@svc/platform/operator';
import { runtime } from '#runtime';
import { createCallers } from '../calls/create-callers.js';
import { PlatformCaller } from '../calls/platform-caller.js';
import type { RequestOptions } from '../core/call-context.js';
import { AuditTrail } from './audit-trail.js';
import { Nodes } from './nodes.js';
import type { OperatorCaller } from './operator-caller.js';
import type { OperatorClientOptions } from './options.js';
import { Teams } from './teams.js';

const localOperatorUrl = 'http://localhost:3003';

/**
 * The client of a server's operator: teams, their limits and keys, and the audit trail. Talks to the operator port with the
 * operator token; settings come from the options, then from `SVC_OPERATOR_URL` and `SVC_OPERATOR_TOKEN`. Nothing is sent
 * before the first call.
 */
export class OperatorClient {
  /** Make teams, set what they may use, ban and block them, and give them keys. */
  readonly teams: Teams;
  /** The record of acts and of who did them. */
  readonly audit: AuditTrail;
  /** See, drain, remove and give up the servers that share a database. */
  readonly nodes: Nodes;
  readonly #caller: OperatorCaller;
  readonly #operatorUrl: string;

  /**
   * @throws InvalidRequestError for settings that make no sense, such as an address that is no URL
   * @example
   * const operator = new OperatorClient({ operatorUrl: 'http://localhost:3003', token });
   */
  constructor(options: OperatorClientOptions = {}) {
    const environment = runtime.environment();
    const { operatorUrl, token = environment.SVC_OPERATOR_TOKEN?.trim() || undefined, ...rest } = options;
    const apiUrl = operatorUrl ?? (environment.SVC_OPERATOR_URL?.trim() || localOperatorUrl);
    const { config, http } = createCallers({ ...rest, apiUrl });
    const caller: OperatorCaller = new PlatformCaller({
      http,
      client: createOperatorClient({ baseUrl: config.apiUrl, token }),
      service: 'operator',
      hasCredential: token !== undefined,
      credentialHint:
        "no operator token. Set SVC_OPERATOR_TOKEN, or give the token option: it stands in operator-token in the server's data directory.",
    });
    this.#caller = caller;
    this.#operatorUrl = config.apiUrl;
    this.teams = new Teams(caller);
    this.audit = new AuditTrail(caller);
    this.nodes = new Nodes(caller);
  }

  /**
   * Makes a link that signs in to the dashboard of the server once, within a minute. The one who opens it acts as the operator.
   * @throws AuthenticationError
   * @example
   * const { url } = await operator.createDashboardLink();
   * @wire createDashboardCode
   */
  async createDashboardLink(options: RequestOptions = {}): Promise<{ url: string; expiresAt: Date }> {
    const data = await this.#caller.call({ operation: 'createDashboardLink', options }, (operator, fetch) =>
      operator.POST('/dashboard-codes', { fetch }),
    );
    // Browsers do not send what follows the `#`: the code is in no log.
    return {
      url: `${this.#operatorUrl}/dashboard/#code=${data.code}`,
      expiresAt: new Date(data.expiresAt),
    };
  }
}

import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import type { AuditEntry, AuditFilter } from './audit-entry.js';
import type { OperatorCaller } from './operator-caller.js';
import { fromAuditEntry } from './wire.js';

/** The record of acts and of who did them. */
export class AuditTrail {
  readonly #caller: OperatorCaller;

  /** @internal */
  constructor(caller: OperatorCaller) {
    this.#caller = caller;
  }

  /**
   * Lists entries, newest first unless asked otherwise: await a page, or iterate over all. A page may be empty and not be
   * the last: go by `nextToken`.
   * @param options `limit`: most entries on a page, 1 to 1000; default: the server's, 100
   * @throws NotFoundError when there is no such team
   * @example
   * for await (const entry of operator.audit.list({ team: 'research', outcome: 'refused' })) console.log(entry.operation);
   * @wire listAuditEntries
   */
  list(
    options: AuditFilter &
      RequestOptions & {
        order?: 'asc' | 'desc' | undefined;
        limit?: number | undefined;
        nextToken?: string | undefined;
      } = {},
  ): PageList<AuditEntry> {
    const { team, actor, operation, resourceId: resource, outcome, order, limit } = options;
    const query = {
      ...{ team, actor, operation, resource, outcome, order, limit },
      from: options.from?.toISOString(),
      until: options.until?.toISOString(),
    };
    return this.#caller.list(
      { operation: 'audit.list', resource: 'team', options },
      (operator, fetch, nextToken) =>
        operator.GET('/audit', { params: { query: defined({ ...query, nextToken }) }, fetch }),
      fromAuditEntry,
    );
  }
}

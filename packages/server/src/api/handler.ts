import type { operations } from '@svc/platform';
import type { Team } from '../auth/team.js';
import type { Log, ServerContext } from '../context/context.js';
import type { NodeRecord } from '../context/nodes.js';
import type { AnyResult, CheckedRequest, OperationId, Result } from './operations.js';

/** What a handler is given besides what the document describes. */
interface Surroundings {
  readonly context: ServerContext;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly requestId: string;
  readonly log: Log;
  /** Aborts when the client leaves, the request runs out of time, or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Has another node answer the same request, and gives what it answers. Undefined where a node passed the request on: what
   * came so far is done here or not at all.
   * @throws {ApiError} the failure that it answers; {NodeUnreachableError}
   */
  readonly passOn?: ((node: NodeRecord) => Promise<AnyResult>) | undefined;
}

/** One request, checked against the document. */
export interface HandlerRequest<Op extends OperationId> extends Surroundings, CheckedRequest<operations[Op]> {
  /** Who calls. Operations without security (`getHealth`, `uploadTemplateFiles`) must not read it. */
  readonly team: Team;
  readonly apiKeyId: string;
}

type ResultOf<Op extends OperationId> = Result<operations[Op]>;

export type Handler<Op extends OperationId> = (
  request: HandlerRequest<Op>,
) => Promise<ResultOf<Op>> | ResultOf<Op>;

/** A handler with its operation's types worn off: what it is given was checked against the document. */
export type AnyHandler = (
  request: Surroundings & Record<'team' | 'apiKeyId' | 'params' | 'query' | 'body', unknown>,
) => Promise<AnyResult> | AnyResult;

export type Handlers = { [Op in OperationId]: Handler<Op> };
export type PartialHandlers = Partial<Handlers>;

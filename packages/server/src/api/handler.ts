import type { Team } from '../auth/team.js';
import type { Log, ServerContext } from '../context/context.js';
import type { BodyOf, OperationId, ParamsOf, QueryOf, ResultOf } from './operations.js';

/** One request, checked against the document. */
export interface HandlerRequest<Op extends OperationId> {
  readonly context: ServerContext;
  /** Who calls. Operations without security (`getHealth`, `uploadTemplateFiles`) must not read it. */
  readonly team: Team;
  readonly apiKeyId: string;
  readonly params: ParamsOf<Op>;
  readonly query: QueryOf<Op>;
  readonly body: BodyOf<Op>;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly requestId: string;
  readonly log: Log;
  /** Aborts when the client leaves, the request runs out of time, or the server stops. */
  readonly signal: AbortSignal;
}

export type Handler<Op extends OperationId> = (
  request: HandlerRequest<Op>,
) => Promise<ResultOf<Op>> | ResultOf<Op>;

export type Handlers = { [Op in OperationId]: Handler<Op> };
export type PartialHandlers = Partial<Handlers>;

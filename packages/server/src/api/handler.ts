import type { operations } from '@svc/platform';
import type { Team } from './auth/team-store.js';
import type { BaseContext, Log } from './context/context.js';
import type { AnyResult, CheckedRequest, OperationId, Result } from './operations.js';

/** The parameters of a handler besides those of the document. */
interface Surroundings<Context> {
  readonly context: Context;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly requestId: string;
  readonly log: Log;
  /** Aborts when the client leaves, the request runs out of time, or the server stops. */
  readonly signal: AbortSignal;
}

/** One request, checked against the document. */
export interface HandlerRequest<Op extends OperationId, Context = BaseContext>
  extends Surroundings<Context>,
    CheckedRequest<operations[Op]> {
  /** The team that calls. Operations without security (`getHealth`, `uploadTemplateFiles`) must not read it. */
  readonly team: Team;
  readonly apiKeyId: string;
}

type ResultOf<Op extends OperationId> = Result<operations[Op]>;

export type Handler<Op extends OperationId, Context = BaseContext> = (
  request: HandlerRequest<Op, Context>,
) => Promise<ResultOf<Op>> | ResultOf<Op>;

/** A handler with its operation's types worn off: what it is given was checked against the document. */
export type AnyHandler<Context> = (
  request: Surroundings<Context> & Record<'team' | 'apiKeyId' | 'params' | 'query' | 'body', unknown>,
) => Promise<AnyResult> | AnyResult;

/** A handler for each operation. @typeParam Context the members of the server's context that they use */
export type Handlers<Context = BaseContext> = { [Op in OperationId]: Handler<Op, Context> };
export type PartialHandlers<Context = BaseContext> = Partial<Handlers<Context>>;

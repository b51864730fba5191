import type { operations } from '@svc/platform';
import type { operatorOperationTypes } from '@svc/platform/operator';

/** Every operation of the platform API, by `operationId`. */
export type OperationId = keyof operations;
/** Every operation of the operator API, by `operationId`. */
export type OperatorOperationId = keyof operatorOperationTypes;

type Part<O, Key extends 'query' | 'path'> = O extends { parameters: infer P }
  ? Key extends keyof P
    ? NonNullable<P[Key]> extends never
      ? Record<never, never>
      : NonNullable<P[Key]>
    : Record<never, never>
  : Record<never, never>;

type Json<C> = C extends { 'application/json': infer B } ? B : unknown;

/** The request body: JSON as the document types it, `undefined` where it may be missing. */
type Body<O> = O extends { requestBody: { content: infer C } }
  ? Json<C>
  : O extends { requestBody?: { content: infer C } }
    ? Json<C> | undefined
    : undefined;

/** The parts of a request that are checked against the document before a handler gets them. @typeParam O an operation of either document */
export interface CheckedRequest<O> {
  readonly params: Part<O, 'path'>;
  readonly query: Part<O, 'query'>;
  readonly body: Body<O>;
}

type Responses<O> = O extends { responses: infer R } ? R : never;
type Success<S> = S extends 200 | 201 | 202 | 204 ? S : never;

/** The answer of a handler on success. Failures are thrown, from the catalog. @typeParam O an operation of either document */
export type Result<O> = {
  [S in Success<keyof Responses<O>>]: {
    status: S;
    headers?: Record<string, string>;
  } & (Responses<O>[S] extends { content: { 'application/json': infer B } }
    ? { body: B }
    : { body?: undefined });
}[Success<keyof Responses<O>>];

/** The answer of any handler, without the types of its operation. */
export interface AnyResult {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

import type { operations } from '@svc/platform';

/** Every operation of the platform API, by `operationId`. */
export type OperationId = keyof operations;

type Part<Op extends OperationId, Key extends 'query' | 'path' | 'header'> = operations[Op] extends {
  parameters: infer P;
}
  ? Key extends keyof P
    ? NonNullable<P[Key]> extends never
      ? Record<never, never>
      : NonNullable<P[Key]>
    : Record<never, never>
  : Record<never, never>;

export type QueryOf<Op extends OperationId> = Part<Op, 'query'>;
export type ParamsOf<Op extends OperationId> = Part<Op, 'path'>;

/** The request body: JSON as the document types it, `undefined` where it may be missing. */
export type BodyOf<Op extends OperationId> = operations[Op] extends { requestBody: { content: infer C } }
  ? Json<C>
  : operations[Op] extends { requestBody?: { content: infer C } }
    ? Json<C> | undefined
    : undefined;

type Json<C> = C extends { 'application/json': infer B } ? B : unknown;

type Responses<Op extends OperationId> = operations[Op] extends { responses: infer R } ? R : never;
type Success<S> = S extends 200 | 201 | 202 | 204 ? S : never;

/** What a handler answers on success. Failures are thrown, from the catalog. */
export type ResultOf<Op extends OperationId> = {
  [S in Success<keyof Responses<Op>>]: {
    status: S;
    headers?: Record<string, string>;
  } & (Responses<Op>[S] extends { content: { 'application/json': infer B } }
    ? { body: B }
    : { body?: undefined });
}[Success<keyof Responses<Op>>];

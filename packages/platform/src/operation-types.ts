import type { operations as PlatformOperations } from './gen/platform.js';
import type { operations as VolumesOperations } from './gen/volumes.js';

type Operations = PlatformOperations & VolumesOperations;

/** Name of an operation of the platform API or of the volume content API. */
export type OperationId = keyof Operations;

type ContentOf<Holder> = Holder extends { content: infer Content } ? Content[keyof Content] : undefined;
type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 205 | 206;

/** The request body; `undefined` where there is none. */
export type BodyOf<Id extends OperationId> = Operations[Id] extends { requestBody?: infer Body }
  ? ContentOf<NonNullable<Body>>
  : undefined;

/** The body of a successful response; `undefined` where it is empty. */
export type SuccessOf<Id extends OperationId> = Operations[Id] extends { responses: infer Responses }
  ? { [Status in keyof Responses & SuccessStatus]: ContentOf<Responses[Status]> }[keyof Responses &
      SuccessStatus]
  : never;

/** The body of a failed response. */
export type FailureOf<Id extends OperationId> = Operations[Id] extends { responses: infer Responses }
  ? {
      [Status in Exclude<keyof Responses, SuccessStatus>]: ContentOf<Responses[Status]>;
    }[Exclude<keyof Responses, SuccessStatus>]
  : never;

type ParametersOf<Id extends OperationId, Place extends string> = Operations[Id] extends {
  parameters: infer All;
}
  ? Place extends keyof All
    ? NonNullable<All[Place]>
    : never
  : never;

/** Query parameters; `never` where there are none. */
export type QueryOf<Id extends OperationId> = ParametersOf<Id, 'query'>;

/** Path parameters; `never` where there are none. */
export type PathOf<Id extends OperationId> = ParametersOf<Id, 'path'>;

/** Headers of the request that the document names; `never` where there are none. */
export type HeadersOf<Id extends OperationId> = ParametersOf<Id, 'header'>;

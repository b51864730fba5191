import type { BodyOf, OperationId, PathOf, QueryOf, SuccessOf } from '@svc/platform';
import type { World } from './world.js';

/** A request of the platform API that fits the document. */
export interface PlatformRequest<Id extends OperationId> {
  readonly world: World;
  readonly params: PathOf<Id>;
  readonly query: Partial<QueryOf<Id>>;
  readonly body: BodyOf<Id>;
  readonly headers: Headers;
}

export interface PlatformAnswer<Id extends OperationId> {
  readonly status: number;
  readonly body?: SuccessOf<Id>;
  readonly headers?: Record<string, string>;
}

/** Handlers of the platform API's operations. */
export type Handlers = {
  readonly [Id in OperationId]?: (
    request: PlatformRequest<Id>,
  ) => PlatformAnswer<Id> | Promise<PlatformAnswer<Id>>;
};

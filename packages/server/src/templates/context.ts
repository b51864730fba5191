import type { ClusterContext } from '../cluster/context.js';
import type { BuildQueue } from './build-queue.js';

/** The context of what builds and keeps templates. */
export interface TemplatesContext extends ClusterContext {
  readonly builds: BuildQueue;
}

export type Uses<K extends keyof TemplatesContext> = Pick<TemplatesContext, K>;

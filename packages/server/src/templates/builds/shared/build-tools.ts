import type { Uses } from '../../context.js';
import type { BuildJob } from './build.js';
import type { BuildLog } from './build-log.js';
import type { LayerCache } from './layer-cache.js';

/** The members of the context that a build uses. */
export type BuildPorts = Uses<
  | 'config'
  | 'copies'
  | 'db'
  | 'driver'
  | 'egress'
  | 'ids'
  | 'keys'
  | 'log'
  | 'metrics'
  | 'nodes'
  | 'now'
  | 'signal'
  | 'tracer'
  | 'usage'
>;

/** The tools that every phase of a build uses. */
export interface BuildTools {
  context: BuildPorts;
  job: BuildJob;
  cache: LayerCache;
  log: BuildLog;
  signal: AbortSignal;
  /** Receives the layers after each step: they stay known when a later one fails. */
  onLayers(layers: string[]): void;
}

import type { Uses } from '../../context.js';
import type { BuildJob } from './build.js';
import type { BuildLog } from './build-log.js';
import type { LayerCache } from './layer-cache.js';

/** What a build needs of the server. */
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

/** What every phase of a build works with. */
export interface BuildTools {
  context: BuildPorts;
  job: BuildJob;
  cache: LayerCache;
  log: BuildLog;
  signal: AbortSignal;
  /** Told of the layers after each step: they stay known when a later one fails. */
  onLayers(layers: string[]): void;
}

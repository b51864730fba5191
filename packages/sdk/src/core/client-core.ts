import type { Config } from '../config/resolve-config.js';
import type { createLogger } from './logger.js';
import type { Pipeline } from './pipeline/pipeline.js';
import type { PlatformCaller } from './platform-call.js';

/** What the resources of one client share. */
export interface ClientCore {
  readonly config: Config;
  readonly logger: ReturnType<typeof createLogger>;
  readonly pipeline: Pipeline;
  /** Typed calls to the platform. */
  readonly platform: PlatformCaller;
  /** Open streams, each by what ends it; `client.close()` ends them all. */
  readonly streams: Set<() => void>;
}

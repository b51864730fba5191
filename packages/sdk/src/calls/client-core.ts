import type { Config } from '../config/resolve-config.js';
import type { createLogger } from '../core/logger.js';
import type { CallEngine } from './call-engine.js';
import type { HttpCaller } from './http-caller.js';
import type { PlatformCaller } from './platform-caller.js';

/** Parts that the resources of one client share. */
export interface ClientCore {
  readonly config: Config;
  readonly logger: ReturnType<typeof createLogger>;
  /** Runs every call. */
  readonly engine: CallEngine;
  /** Plain HTTP. */
  readonly http: HttpCaller;
  /** Typed calls to the platform. */
  readonly platform: PlatformCaller;
  /** Open streams, each by what ends it; `client.close()` ends them all. */
  readonly streams: Set<() => void>;
}

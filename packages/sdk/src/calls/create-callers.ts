import { runtime } from '#runtime';
import type { ClientOptions } from '../config/options.js';
import { resolveConfig } from '../config/resolve-config.js';
import { createLogger } from '../core/logger.js';
import { CallEngine } from './call-engine.js';
import type { ClientCore } from './client-core.js';
import { HttpCaller } from './http-caller.js';

/** Makes the callers of a client, from the options and the environment. */
export function createCallers(
  options: ClientOptions,
): Pick<ClientCore, 'config' | 'logger' | 'engine' | 'http'> {
  const { kind, userAgent } = runtime;
  const config = resolveConfig(options, { kind, userAgent, environment: runtime.environment() });
  const logger = createLogger(config.logger, config.logLevel);
  const engine = new CallEngine({ ...config, logger });
  return { config, logger, engine, http: new HttpCaller({ ...config, logger, engine }) };
}

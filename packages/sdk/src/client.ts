import { createPlatformClient, type PlatformClient } from '@svc/platform';
import { runtime } from '#runtime';
import type { ClientOptions } from './config/options.js';
import { resolveConfig } from './config/resolve-config.js';
import type { ClientCore } from './core/client-core.js';
import { createLogger } from './core/logger.js';
import type { RequestOptions } from './core/pipeline/call-context.js';
import { Pipeline } from './core/pipeline/pipeline.js';
import { PlatformCaller } from './core/platform-call.js';
import { Events } from './events/events.js';
import { Sandboxes } from './sandbox/sandboxes.js';
import { Secrets } from './secrets/secrets.js';
import { Snapshots } from './snapshots/snapshots.js';
import { ApiKeys } from './team/api-keys.js';
import { getTeam } from './team/get-team.js';
import type { Team } from './team/team.js';
import { Templates } from './templates/templates.js';
import { Volumes } from './volumes/volumes.js';
import { Webhooks } from './webhooks/webhooks-resource.js';

/**
 * The entrance to the service. Settings come from the options, then from the environment (`SVC_API_KEY`,
 * `SVC_API_URL`, `SVC_SANDBOX_URL`, `SVC_DOMAIN`, `SVC_DEBUG`, `SVC_LOG`), then from the defaults. Nothing is sent
 * before the first call, and nothing keeps the process alive after the last.
 */
export class Client {
  /** Create, find and end sandboxes. */
  readonly sandboxes: Sandboxes;
  /** Stored states of sandboxes. */
  readonly snapshots: Snapshots;
  /** What sandboxes are created from. */
  readonly templates: Templates;
  /** Values that reach outbound requests and never a sandbox. */
  readonly secrets: Secrets;
  /** Directories that outlive sandboxes. */
  readonly volumes: Volumes;
  /** Addresses that lifecycle events are sent to. */
  readonly webhooks: Webhooks;
  /** What happened to sandboxes. */
  readonly events: Events;
  /** Keys of the team. */
  readonly apiKeys: ApiKeys;
  readonly #core: ClientCore;
  readonly #platform: PlatformClient;

  /** @throws InvalidRequestError for settings that make no sense, such as an address that is no URL */
  constructor(options: ClientOptions = {}) {
    const { kind, userAgent } = runtime;
    const config = resolveConfig(options, { kind, userAgent, environment: runtime.environment() });
    const logger = createLogger(config.logger, config.logLevel);
    const pipeline = new Pipeline({ ...config, logger });
    const { apiKey, apiUrl } = config;
    this.#platform = createPlatformClient({
      baseUrl: apiUrl,
      apiKey,
      fetch: pipeline.fetchFor({ service: 'platform' }),
    });
    const platform = new PlatformCaller({
      pipeline,
      client: this.#platform,
      service: 'platform',
      hasCredential: apiKey !== undefined,
      credentialHint: 'no API key. Set SVC_API_KEY, or give the apiKey option: new Client({ apiKey }).',
    });
    this.#core = { config, logger, pipeline, platform, streams: new Set() };
    this.sandboxes = new Sandboxes(this.#core);
    this.snapshots = new Snapshots(this.#core);
    this.templates = new Templates(this.#core);
    this.secrets = new Secrets(this.#core);
    this.volumes = new Volumes(this.#core);
    this.webhooks = new Webhooks(this.#core);
    this.events = new Events(this.#core);
    this.apiKeys = new ApiKeys(this.#core);
  }

  /**
   * The generated client of the platform API. Its requests pass through this client's pipeline (retries, time limits,
   * logging); failed answers are returned, not thrown.
   */
  get platform(): PlatformClient {
    return this.#platform;
  }

  /**
   * Reads the team that the API key belongs to, with its limits.
   * @throws AuthenticationError
   * @example
   * const { limits } = await client.team();
   * @wire getTeam
   */
  team(options: RequestOptions = {}): Promise<Team> {
    return getTeam(this.#core, options);
  }

  /**
   * Ends every open stream of this client: commands, terminals, watches. What runs in sandboxes goes on.
   * @example
   * client.close();
   */
  close(): void {
    for (const end of [...this.#core.streams]) end();
  }

  /** As `close`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

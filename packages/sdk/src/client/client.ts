import type { PlatformClient } from '@svc/platform';
import { ApiKeys } from '../api-keys/api-keys.js';
import type { ClientCore } from '../calls/client-core.js';
import { createClientCore } from '../calls/create-core.js';
import type { ClientOptions } from '../config/options.js';
import type { RequestOptions } from '../core/call-context.js';
import { Events } from '../events/events.js';
import { Sandboxes } from '../sandbox/sandboxes.js';
import { Secrets } from '../secrets/secrets.js';
import { Snapshots } from '../snapshots/snapshots.js';
import type { Team } from '../team/team.js';
import { fromTeam } from '../team/wire.js';
import { Templates } from '../templates/templates.js';
import { Volumes } from '../volumes/volumes.js';
import { Webhooks } from '../webhooks/webhooks.js';

/**
 * A client of the service. Settings come from the options, then from the environment (`SVC_API_KEY`,
 * `SVC_API_URL`, `SVC_SANDBOX_URL`, `SVC_DOMAIN`, `SVC_DEBUG`, `SVC_LOG`), then from the defaults. Nothing is sent
 * before the first call, and nothing keeps the process alive after the last.
 */
export class Client {
  /** Create, find and kill sandboxes. */
  readonly sandboxes: Sandboxes;
  /** Stored states of sandboxes. */
  readonly snapshots: Snapshots;
  /** Templates that sandboxes are created from. */
  readonly templates: Templates;
  /** Values that are put into outbound requests and never enter a sandbox. */
  readonly secrets: Secrets;
  /** Directories that outlive sandboxes. */
  readonly volumes: Volumes;
  /** Addresses that lifecycle events are sent to. */
  readonly webhooks: Webhooks;
  /** Events about sandboxes. */
  readonly events: Events;
  /** Keys of the team. */
  readonly apiKeys: ApiKeys;
  readonly #core: ClientCore;
  readonly #platform: PlatformClient;

  /** @throws InvalidRequestError for settings that make no sense, such as an address that is no URL */
  constructor(options: ClientOptions = {}) {
    const { client, ...core } = createClientCore(options);
    this.#platform = client;
    this.#core = core;
    this.sandboxes = new Sandboxes(core);
    this.snapshots = new Snapshots(core);
    this.templates = new Templates(core);
    this.secrets = new Secrets(core);
    this.volumes = new Volumes(core);
    this.webhooks = new Webhooks(core);
    this.events = new Events(core);
    this.apiKeys = new ApiKeys(core);
  }

  /**
   * The generated client of the platform API. Its requests are calls of this client (retries, time limits,
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
   * Ends every open stream of this client: commands, terminals, watches. What runs in sandboxes keeps running.
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

async function getTeam(core: ClientCore, options: RequestOptions): Promise<Team> {
  const context = { operation: 'client.team', resource: 'team', options } as const;
  const data = await core.platform.call(context, (platform, fetch) => platform.GET('/team', { fetch }));
  return fromTeam(data);
}

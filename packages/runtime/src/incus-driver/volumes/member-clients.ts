import { formatEndpoint, parseEndpoints } from '../../incus/endpoint.js';
import { IncusClient, type IncusClientOptions } from '../../incus/incus-client.js';
import { readServer } from '../read-wire.js';
import type { WireMember } from '../wire.js';

const ANSWER_MS = 10_000;
/** Nobody is asked again for a member that was not found before so long is over, ms. */
const LEARN_AGAIN_MS = 10_000;

interface Known {
  client: IncusClient;
  address: string;
  /** As it says itself. Undefined: it did not yet. */
  name: string | undefined;
}

export interface MemberClientsOptions extends IncusClientOptions {
  /** Members of the cluster. Those that `address` does not name are called at the addresses that they have in it. */
  members?: () => Promise<Pick<WireMember, 'server_name' | 'url'>[]>;
}

/** Calls of one member each, for the few that Incus does not hand on to the member that they are about. */
export class MemberClients {
  readonly #options: MemberClientsOptions;
  readonly #clients: Known[] = [];
  /** One look at a time: it may find what others are after. Never rejects. */
  #looking = Promise.resolve();
  #missedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: MemberClientsOptions) {
    this.#options = options;
    for (const endpoint of parseEndpoints(options.address)) this.#add(formatEndpoint(endpoint));
  }

  /** Undefined for one that does not answer here. @param location `none` where there is no cluster */
  async of(location: string): Promise<IncusClient | undefined> {
    if (location === 'none') return this.#clients[0]?.client;
    if (this.#find(location) === undefined) {
      this.#looking = this.#looking.then(() => this.#learn(location));
      await this.#looking;
    }
    return this.#find(location);
  }

  close(): void {
    for (const { client } of this.#clients) client.close();
  }

  #find(location: string): IncusClient | undefined {
    return this.#clients.find(({ name }) => name === location)?.client;
  }

  #add(address: string): void {
    if (this.#clients.some((known) => known.address === address)) return;
    this.#clients.push({ client: new IncusClient({ ...this.#options, address }), address, name: undefined });
  }

  async #learn(location: string): Promise<void> {
    const lately = performance.now() - this.#missedAtMs < LEARN_AGAIN_MS;
    if (lately || this.#find(location) !== undefined) return;
    await this.#learnNames();
    if (this.#find(location) === undefined) {
      await this.#addMembers();
      await this.#learnNames();
    }
    if (this.#find(location) === undefined) this.#missedAtMs = performance.now();
  }

  /** A socket leads to its own member alone: others take a certificate. Each has to show that of the cluster before it is asked. */
  async #addMembers(): Promise<void> {
    const { members, credentials } = this.#options;
    if (members === undefined || credentials === undefined) return;
    const known = new Set(this.#clients.map(({ name }) => name));
    for (const { server_name: name, url } of await members().catch(() => [])) {
      if (known.has(name) || !url.startsWith('https://')) continue;
      try {
        this.#add(parseEndpoints(url).map(formatEndpoint).join());
      } catch {
        // One that nobody can call.
      }
    }
  }

  async #learnNames(): Promise<void> {
    await Promise.all(
      this.#clients
        .filter(({ name }) => name === undefined)
        .map(async (each) => {
          const server = await each.client
            .call({ path: '', timeoutMs: ANSWER_MS })
            .then(readServer)
            .catch(() => undefined);
          each.name = server?.environment.server_name;
        }),
    );
  }
}

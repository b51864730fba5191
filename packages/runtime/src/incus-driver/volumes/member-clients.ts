import { formatEndpoint, parseEndpoints } from '../../incus/endpoint.js';
import { IncusClient, type IncusClientOptions } from '../../incus/incus-client.js';
import { readServer } from '../read-wire.js';

const ANSWER_MS = 10_000;

/** Calls of one member each, for the few that Incus does not hand on to the member that they are about. */
export class MemberClients {
  readonly #clients: { client: IncusClient; name: string | undefined }[];

  /** @param options addresses of the members that can be called */
  constructor(options: IncusClientOptions) {
    this.#clients = parseEndpoints(options.address).map((endpoint) => ({
      client: new IncusClient({ ...options, address: formatEndpoint(endpoint) }),
      name: undefined,
    }));
  }

  /** Undefined for one that no address leads to. @param location `none` where there is no cluster */
  async of(location: string): Promise<IncusClient | undefined> {
    if (location === 'none') return this.#clients[0]?.client;
    if (!this.#clients.some(({ name }) => name === location)) await this.#learnNames();
    return this.#clients.find(({ name }) => name === location)?.client;
  }

  close(): void {
    for (const { client } of this.#clients) client.close();
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

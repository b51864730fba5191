import type { IncusClient } from '../../incus/incus-client.js';
import { IncusError } from '../../incus/incus-error.js';
import { readVolumeBytes, readVolumes } from '../read-wire.js';
import type { WireVolume } from '../wire.js';
import type { MemberClients } from './member-clients.js';

export interface CustomVolumesOptions {
  client: IncusClient;
  members: MemberClients;
  pool: string;
}

/** The calls about custom volumes of one storage pool, each a few lines. */
export class CustomVolumes {
  readonly #options: CustomVolumesOptions;
  readonly #path: string;

  constructor(options: CustomVolumesOptions) {
    this.#options = options;
    this.#path = `/storage-pools/${encodeURIComponent(options.pool)}/volumes/custom`;
  }

  /** Those of the service in the project, on every member, also on one that is away. @param name of one alone */
  async list(name?: string): Promise<WireVolume[]> {
    const filter = name === undefined ? {} : { filter: `name eq ${name}` };
    const query = { recursion: '1', ...filter };
    const all = readVolumes(await this.#options.client.call({ path: this.#path, query }));
    return all.filter((volume) => name === undefined || volume.name === name);
  }

  /** @param target the member; undefined where there is no cluster */
  async create(name: string, target: string | undefined, config: Record<string, string>): Promise<void> {
    await this.#options.client.call({
      method: 'POST',
      path: this.#path,
      query: target === undefined ? {} : { target },
      body: { name, content_type: 'filesystem', config },
    });
  }

  /** Changes some of its configuration. */
  async change(volume: WireVolume, config: Record<string, string>): Promise<void> {
    await this.#options.client.call({ method: 'PATCH', ...this.#at(volume), body: { config } });
  }

  /** Repeating it is fine. @throws {IncusError} while an instance has it */
  async remove(volume: WireVolume): Promise<void> {
    await this.#options.client.find({ method: 'DELETE', ...this.#at(volume) });
  }

  /** Undefined where it is not counted: only the member that has it tells. */
  async usedBytes(volume: WireVolume): Promise<number | undefined> {
    const client = await this.#options.members.of(volume.location);
    if (client === undefined) return undefined;
    try {
      return readVolumeBytes(await client.call({ path: `${this.#at(volume).path}/state` }));
    } catch (error) {
      if (IncusError.is(error, 0)) throw error;
      return undefined;
    }
  }

  #at({ name, location }: WireVolume) {
    const query = location === 'none' ? {} : { target: location };
    return { path: `${this.#path}/${encodeURIComponent(name)}`, query };
  }
}

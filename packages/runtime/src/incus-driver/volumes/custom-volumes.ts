import type { IncusClient } from '../../incus/incus-client.js';
import { IncusError } from '../../incus/incus-error.js';
import { readVolumeBytes, readVolumePlaces, readVolumes } from '../read-wire.js';
import type { WireVolume, WireVolumePlace } from '../wire.js';
import type { MemberClients } from './member-clients.js';

/** Longest wait for what a member says of one volume, ms. */
const READ_MS = 10_000;

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

  /**
   * Those of the service in the project, on every member, also on one that is away. Dear: of each volume Incus looks through all
   * instances for those that use it, regardless of a filter on the answer.
   */
  async list(): Promise<WireVolume[]> {
    return readVolumes(await this.#options.client.call({ path: this.#path, query: { recursion: '1' } }));
  }

  /** Where those of the service are. Cheap. @param name of one alone */
  async places(name?: string): Promise<WireVolumePlace[]> {
    const all = readVolumePlaces(await this.#options.client.call({ path: this.#path }));
    return name === undefined ? all : all.filter((place) => place.name === name);
  }

  /** Those of a name: at most one, unless servers are just making it. */
  async find(name: string): Promise<WireVolume[]> {
    const found = await Promise.all((await this.places(name)).map((place) => this.#read(place)));
    return found.flat();
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

  /** Undefined where it is not counted: only the member that has it knows. */
  async usedBytes(volume: WireVolumePlace): Promise<number | undefined> {
    const client = await this.#options.members.of(volume.location);
    if (client === undefined) return undefined;
    try {
      return readVolumeBytes(await client.call({ path: `${this.#at(volume).path}/state` }));
    } catch (error) {
      if (IncusError.is(error, 0)) throw error;
      return undefined;
    }
  }

  async #read(place: WireVolumePlace): Promise<WireVolume[]> {
    try {
      const volume = await this.#options.client.find({ ...this.#at(place), timeoutMs: READ_MS });
      return volume === undefined ? [] : readVolumes([volume]);
    } catch (error) {
      if (!IncusError.is(error)) throw error;
      // Its member is away: then the list of all still has it.
      const all = await this.list();
      return all.filter(({ name, location }) => name === place.name && location === place.location);
    }
  }

  #at({ name, location }: WireVolumePlace) {
    const query = location === 'none' ? {} : { target: location };
    return { path: `${this.#path}/${encodeURIComponent(name)}`, query };
  }
}

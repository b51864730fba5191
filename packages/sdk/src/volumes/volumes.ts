import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { VolumeNotFoundError } from '../errors/not-found-errors.js';
import { Volume } from './volume.js';
import { VolumeAccess, type VolumeGrant } from './volume-access.js';
import type { VolumeInfo } from './volume-info.js';
import { fromVolume } from './wire.js';

const resource = 'volume' as const;
const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The volumes of the team: directories that outlive sandboxes and can be mounted into many. */
export class Volumes {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Creates an empty volume.
   * @param name letters, digits, `_` and `-`; unique within the team
   * @throws InvalidRequestError also when the name is taken
   * @example
   * const volume = await client.volumes.create('datasets');
   * const sandbox = await client.sandboxes.create({ volumeMounts: { '/mnt/data': volume } });
   * @wire createVolume
   */
  async create(name: string, options: RequestOptions = {}): Promise<Volume> {
    const data = await this.#core.platform.call(
      { operation: 'volumes.create', resource, options },
      (platform, fetch) => platform.POST('/volumes', { body: { name }, fetch }),
    );
    return this.#handle(data, { ...fromVolume(data), token: data.token, domain: data.domain ?? undefined });
  }

  /**
   * Lists all volumes, as handles.
   * @example
   * for (const { name, volumeId } of await client.volumes.list()) console.log(name, volumeId);
   * @wire listVolumes
   */
  async list(options: RequestOptions = {}): Promise<Volume[]> {
    const data = await this.#core.platform.call({ operation: 'volumes.list', options }, (platform, fetch) =>
      platform.GET('/volumes', { fetch }),
    );
    return data.map((volume) => this.#handle(volume));
  }

  /**
   * Gives a handle of a volume.
   * @param idOrName its `volumeId`, or its name, which takes one request more
   * @throws VolumeNotFoundError
   * @example
   * const volume = await client.volumes.get('datasets');
   * @wire getVolume, listVolumes
   */
  async get(idOrName: string, options: RequestOptions = {}): Promise<Volume> {
    const volumeId = await this.#idOf(idOrName, options);
    if (volumeId === undefined)
      throw new VolumeNotFoundError(
        `volumes.get: there is no volume named '${idOrName}'. client.volumes.list() shows what there is.`,
        { operation: 'volumes.get' },
      );
    const grant = await this.#grant(volumeId, options);
    return this.#handle({ volumeID: grant.volumeId, name: grant.name }, grant);
  }

  /**
   * Deletes a volume with all that is in it. Sandboxes that have it mounted keep it until they end. False when there was none.
   * @param idOrName its `volumeId`, or its name, which takes one request more
   * @example
   * await client.volumes.delete('datasets');
   * @wire deleteVolume, listVolumes
   */
  async delete(idOrName: string, options: RequestOptions = {}): Promise<boolean> {
    const volumeId = await this.#idOf(idOrName, options);
    if (volumeId === undefined) return false;
    return this.#core.platform.delete({ operation: 'volumes.delete', resource, options }, (platform, fetch) =>
      platform.DELETE('/volumes/{volumeID}', { params: { path: { volumeID: volumeId } }, fetch }),
    );
  }

  /** The id that a name stands for; undefined when there is no such volume. What looks like an id is one. */
  async #idOf(idOrName: string, options: RequestOptions): Promise<string | undefined> {
    if (idForm.test(idOrName)) return idOrName;
    return (await this.list(options)).find(({ name }) => name === idOrName)?.volumeId;
  }

  async #grant(volumeId: string, options: RequestOptions): Promise<VolumeGrant> {
    const data = await this.#core.platform.call(
      { operation: 'volumes.get', resource, options },
      (platform, fetch) =>
        platform.GET('/volumes/{volumeID}', { params: { path: { volumeID: volumeId } }, fetch }),
    );
    return { ...fromVolume(data), token: data.token, domain: data.domain ?? undefined };
  }

  #handle(volume: { volumeID: string; name: string }, grant?: VolumeGrant): Volume {
    const info: VolumeInfo = fromVolume(volume);
    const renew = (options: RequestOptions) => this.#grant(info.volumeId, options);
    return new Volume(info, new VolumeAccess(this.#core, info, renew, grant));
  }
}

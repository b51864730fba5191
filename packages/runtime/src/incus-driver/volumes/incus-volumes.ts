import { KeyedMutex } from '#support/keyed-mutex';
import type { LostDriver } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import type { InstanceMount } from '../../contract/instance.js';
import type { VolumeContent, Volumes } from '../../contract/volumes.js';
import { IncusError } from '../../incus/incus-error.js';
import { requireVolumeId } from '../../shared/instance-id.js';
import type { RetryLater } from '../../shared/retry-later.js';
import { contentBehind } from '../../volumes/content.js';
import type { PlainVolumes } from '../../volumes/plain-volumes.js';
import { translated } from '../driver-error.js';
import type { IncusCluster } from '../incus-cluster.js';
import { isOf, keys, volumeIdOf, volumeName } from '../keys.js';
import type { WireVolume, WireVolumePlace } from '../wire.js';
import { chooseMember } from './choose-member.js';
import type { CustomVolumes } from './custom-volumes.js';
import { NO_MOUNTS, type PlacedMounts, placeMounts } from './place-mounts.js';
import type { VolumeAgents } from './volume-agents.js';

const AWAY = {
  code: 'unreachable',
  message: 'The volume cannot be reached: the machine of the cluster that has it may be away.',
} as const;

export interface IncusVolumesOptions {
  cluster: IncusCluster;
  custom: CustomVolumes;
  /** Of this data directory. */
  owner: string;
  pool: string;
  /** The storage pool has quotas. */
  limited: boolean;
  /** Volumes of an earlier version: directories of this server, which nothing can mount. */
  plain: PlainVolumes;
  agents: VolumeAgents;
  cleanUp: RetryLater;
  log(level: 'warn', message: string, fields: Record<string, unknown>): void;
}

/**
 * Volumes as custom volumes of the storage pool, each on one member. Any server of the cluster makes, reads, changes and deletes
 * any of them; the one that made a volume removes what nobody knows any more.
 */
export class IncusVolumes implements Volumes {
  readonly #options: IncusVolumesOptions;
  readonly #mutex = new KeyedMutex();
  /** The last measured sizes, for the time in which volumes cannot be measured. */
  readonly #measured = new Map<string, number>();

  constructor(options: IncusVolumesOptions) {
    this.#options = options;
  }

  make(id: string, options: { limitMiB?: number } = {}): Promise<void> {
    return this.#mutex.run(requireVolumeId(id), () => translated(() => this.#make(id, options), AWAY));
  }

  /** Those of this data directory. */
  async list(): Promise<string[]> {
    const { custom, owner, plain } = this.#options;
    const all = await translated(() => custom.list(), AWAY);
    const own = all.filter((volume) => isOf(owner, volume) && !isDeleted(volume));
    return [...new Set([...own.map(({ name }) => volumeIdOf(name)!), ...(await plain.list())])];
  }

  async delete(id: string): Promise<void> {
    const { agents, cleanUp, plain } = this.#options;
    requireVolumeId(id);
    this.#measured.delete(id);
    await plain.delete(id);
    await cleanUp.attempt(`volume ${id}`, () =>
      this.#mutex.run(id, async () => {
        await agents.end(id);
        for (const found of await this.#find(id)) await this.#remove(found);
      }),
    );
  }

  async usedBytes(id: string): Promise<number | undefined> {
    const { custom, limited } = this.#options;
    if (!limited || (await this.#isPlain(id))) return undefined;
    const found = await this.#placeOf(id).catch(() => undefined);
    const bytes = found === undefined ? undefined : await custom.usedBytes(found).catch(() => undefined);
    if (bytes !== undefined) this.#measured.set(id, bytes);
    return bytes ?? this.#measured.get(id) ?? 0;
  }

  content(id: string): VolumeContent {
    const { agents, plain } = this.#options;
    requireVolumeId(id);
    return contentBehind(async () => {
      if (await this.#isPlain(id)) return plain.content(id);
      return agents.content(id, () => this.#whereIs(id));
    });
  }

  /** Returns true if it is on the cluster, made by any driver. @throws {DriverError} `unreachable` */
  async has(id: string): Promise<boolean> {
    const found = await translated(() => this.#find(id), AWAY);
    return found.some((volume) => !isDeleted(volume));
  }

  /**
   * Where an instance with these mounts has to run.
   * @throws {DriverError} `invalid_spec` where they cannot be mounted together, `unsupported`, `unreachable`
   */
  async place(mounts: readonly InstanceMount[]): Promise<PlacedMounts> {
    if (mounts.length === 0) return NO_MOUNTS;
    const locations = new Map<string, string>();
    for (const { volumeId } of mounts) {
      if (volumeId === undefined || locations.has(volumeId)) continue;
      if (await this.#isPlain(volumeId))
        throw new DriverError(
          'unsupported',
          'A volume of an earlier version lies on the machine of its server, where no sandbox can mount it: copy its files into a new one.',
        );
      const found = await translated(() => this.#placeOf(volumeId), AWAY);
      if (found !== undefined) locations.set(volumeId, found.location);
    }
    const placed = placeMounts(mounts, { pool: this.#options.pool, locations });
    await this.#requireOnline(placed.location);
    return placed;
  }

  /** Removes those of this data directory that were deleted while something had them mounted. */
  async reap(): Promise<void> {
    const { custom, owner, plain, cleanUp } = this.#options;
    await plain.reap();
    for (const volume of await custom.list())
      if (isOf(owner, volume) && isDeleted(volume))
        await cleanUp.attempt(nameForLog(volume), () => this.#remove(volume));
  }

  /**
   * Takes those of another data directory, whose server is lost, and removes what that one had still to delete.
   * @returns names of what was removed, for the log
   */
  async takeOver({
    holder,
    isLost,
    usedVolumes,
  }: Pick<LostDriver, 'holder' | 'isLost' | 'usedVolumes'>): Promise<string[]> {
    const { custom, owner, cleanUp } = this.#options;
    const theirs = (await custom.list()).filter((volume) => isOf(holder, volume));
    if (theirs.length === 0) return [];
    const used = await usedVolumes();
    const removed: string[] = [];
    for (const volume of theirs) {
      if (!(await isLost())) break;
      const what = nameForLog(volume);
      const isUsed = !isDeleted(volume) && used.has(volumeIdOf(volume.name)!);
      const done = await cleanUp.attempt(what, () =>
        isUsed ? custom.change(volume, { [keys.owner]: owner }) : this.#remove(volume),
      );
      if (done && !isUsed) removed.push(what);
    }
    return removed;
  }

  async #make(id: string, { limitMiB }: { limitMiB?: number }): Promise<void> {
    const { custom, limited } = this.#options;
    if (await this.#isPlain(id)) return;
    let [found] = await this.#find(id);
    found ??= await this.#create(id);
    const change: Record<string, string> = {};
    const size = limited && limitMiB !== undefined ? `${limitMiB}MiB` : undefined;
    if (size !== undefined && found.config.size !== size) change.size = size;
    if (isDeleted(found)) change[keys.state] = 'live';
    if (Object.keys(change).length === 0) return;
    await custom.change(found, change).catch((error: unknown) => {
      // Storage that cannot shrink keeps the limit that it had.
      if (found.config.size === undefined || IncusError.is(error, 0) || isDeleted(found)) throw error;
      this.#options.log('warn', 'the limit of a volume could not be set', { id, cause: String(error) });
    });
  }

  /** On one member: servers that make it at the same moment agree which of theirs stays. */
  async #create(id: string): Promise<WireVolume> {
    const { cluster, custom, owner } = this.#options;
    const target = chooseMember(await cluster.members(), await custom.places(), id);
    await custom.create(volumeName(id), target, {
      [keys.owner]: owner,
      [keys.state]: 'live',
      [keys.id]: id,
      // Every sandbox has user ids of its own on its machine, and all see the same owners of files.
      'security.shifted': 'true',
      // Every user inside a sandbox may write to it: sandboxes know only that the volume is their team's.
      'initial.mode': '0777',
    });
    const [first, ...others] = await this.#find(id);
    if (first === undefined) throw new IncusError(500, 'Incus does not find the volume that it made.');
    for (const other of others)
      if (isOf(owner, other) && other.location === target) await custom.remove(other);
    return first;
  }

  /** Incus removes none that any instance has: such a volume is marked. */
  async #remove(volume: WireVolume): Promise<void> {
    const { custom, owner } = this.#options;
    try {
      await custom.remove(volume);
    } catch (error) {
      if (!isDeleted(volume) || !isOf(owner, volume))
        await custom.change(volume, { [keys.state]: 'deleted', [keys.owner]: owner });
      throw error;
    }
  }

  /** At most one, unless servers are just making it: then the one that stays, the oldest, is the first. */
  async #find(id: string): Promise<WireVolume[]> {
    const found = await this.#options.custom.find(volumeName(id));
    const orderOf = ({ createdAt, location }: WireVolume) => `${createdAt} ${location}`;
    return found.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  }

  /** Undefined where it is not there. */
  async #placeOf(id: string): Promise<WireVolumePlace | undefined> {
    const [place, ...others] = await this.#options.custom.places(volumeName(id));
    return others.length === 0 ? place : (await this.#find(id))[0];
  }

  /** @throws {DriverError} `unreachable` */
  async #whereIs(id: string): Promise<string | undefined> {
    const found = await translated(() => this.#placeOf(id), AWAY);
    if (found === undefined) throw new DriverError(AWAY.code, AWAY.message, { detail: 'it is not there' });
    const location = found.location === 'none' ? undefined : found.location;
    await this.#requireOnline(location);
    return location;
  }

  /** @throws {DriverError} `unreachable` */
  async #requireOnline(location: string | undefined): Promise<void> {
    if (location === undefined) return;
    const members = await translated(() => this.#options.cluster.members(), AWAY);
    const status = members.find(({ server_name: name }) => name === location)?.status;
    if (status !== 'Online')
      throw new DriverError(AWAY.code, AWAY.message, { detail: `${location}: ${status ?? 'no member'}` });
  }

  async #isPlain(id: string): Promise<boolean> {
    return (await this.#options.plain.list()).includes(id);
  }
}

function isDeleted({ config }: WireVolume): boolean {
  return config[keys.state] === 'deleted';
}

function nameForLog({ name }: WireVolume): string {
  return `volume ${volumeIdOf(name)}`;
}

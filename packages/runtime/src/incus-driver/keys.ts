import { createHash } from 'node:crypto';
import { requireVolumeId } from '../shared/instance-id.js';

/** The keys that the driver writes on all of its objects in Incus, below `user.`. */
export const keys = {
  /** Random name of the data directory whose driver holds it, or made it. */
  owner: 'user.svc.owner',
  /** Random: distinguishes it from an earlier instance of the same name. */
  unique: 'user.svc.unique',
  /** Of instances `pooled`, `live`, `checkpoint`, `volume-agent`; of volumes `live`, `deleted`. */
  state: 'user.svc.state',
  id: 'user.svc.id',
  labels: 'user.svc.labels',
  layers: 'user.svc.layers',
  limits: 'user.svc.limits',
  createdAtMs: 'user.svc.created',
  sizeBytes: 'user.svc.size',
  /** `ready`, or `bare` while its network card has no address inside yet. */
  card: 'user.svc.card',
  /** Of the image that it was made of: what it writes comes on top. */
  imageBytes: 'user.svc.image_size',
} as const;

/** Of a project: what drivers and the cluster's network have in common. */
export const projectKeys = {
  pool: 'user.svc.pool',
  parent: 'user.svc.parent',
  range: 'user.svc.range',
  gateway: 'user.svc.gateway',
  fence: 'user.svc.fence',
} as const;

/** Of images. */
export const imageKeys = {
  /** Names what it was made of. */
  stack: 'svc.stack',
  /** Layers in it, with commas between. */
  layers: 'svc.layers',
  /** Id of the layer that it is, as a whole root file system. */
  layer: 'svc.layer',
  owner: 'svc.owner',
  /** The daemon's directory that is in it. */
  agent: 'svc.agent',
} as const;

/**
 * Name in Incus of the sandbox with an address. Names are unique in a project, so that making the instance claims the address
 * among all servers of a cluster. Pure.
 */
export function sandboxName(address: string): string {
  return `s${address.replaceAll('.', '-')}`;
}

/** Name in Incus of a checkpoint: it is found by the id, also while its member is away. Pure. */
export function checkpointName(id: string): string {
  return `c${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}

/** Returns true if an instance belongs to a data directory. False while its member is away, as only its name is known then. Pure. */
export function isOf(owner: string, { config }: { config: Record<string, string> }): boolean {
  return config[keys.owner] === owner;
}

/** Distinguishes volumes from an operator's own in the same project. */
const VOLUME_PREFIX = 'svc-';

/** Name in Incus of a volume, which is unique in a project. Pure. @throws {DriverError} `invalid_spec` */
export function volumeName(id: string): string {
  return `${VOLUME_PREFIX}${requireVolumeId(id)}`;
}

/** Undefined for what is no volume of the service. Pure. */
export function volumeIdOf(name: string): string | undefined {
  if (!name.startsWith(VOLUME_PREFIX)) return undefined;
  try {
    return requireVolumeId(name.slice(VOLUME_PREFIX.length));
  } catch {
    return undefined;
  }
}

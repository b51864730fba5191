/** What the driver writes on everything of its own in Incus, below `user.`. */
export const keys = {
  /** Random name of the data directory that it belongs to. */
  owner: 'user.svc.owner',
  /** `pooled`, `live`, `checkpoint`. */
  state: 'user.svc.state',
  id: 'user.svc.id',
  labels: 'user.svc.labels',
  layers: 'user.svc.layers',
  limits: 'user.svc.limits',
  createdAtMs: 'user.svc.created',
  sizeBytes: 'user.svc.size',
  /** Of the image that it was made of: what it writes comes on top. */
  imageBytes: 'user.svc.image_size',
} as const;

/** Of a project: what drivers and the cluster's network have in common. */
export const projectKeys = {
  pool: 'user.svc.pool',
  parent: 'user.svc.parent',
  range: 'user.svc.range',
  gateway: 'user.svc.gateway',
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
} as const;

const OWNER_LENGTH = 8;

/** Name of an instance in Incus: all that is known of it while its member is away. Pure. */
export function instanceName(kind: 'sandbox' | 'checkpoint', owner: string, unique: string): string {
  return `${kind === 'sandbox' ? 's' : 'c'}${owner.slice(0, OWNER_LENGTH)}${unique}`;
}

/** Whether an instance belongs to a data directory. Pure. */
export function isOf(
  owner: string,
  { name, config }: { name: string; config: Record<string, string> },
): boolean {
  const said = config[keys.owner];
  return said === undefined
    ? name.slice(1, 1 + OWNER_LENGTH) === owner.slice(0, OWNER_LENGTH)
    : said === owner;
}

/** Whether it is a checkpoint, by its name alone. Pure. */
export function isCheckpointName(name: string): boolean {
  return name.startsWith('c');
}

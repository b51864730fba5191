import { daemonProgram } from '@svc/envd';
import { type CheckpointOptions, type Driver, DriverError, type Instance } from '@svc/runtime/contract';
import { createProcessDriver } from '@svc/runtime/process';

/** Instances of one process driver, as a cluster that several servers reach, each by a driver of its own. */
export interface PlayedCluster extends AsyncDisposable {
  /** Opens a driver as one server would. What an earlier one of the same name made is its own. */
  open(name: string): Driver;
  /** False while it cannot be asked for its content. Default true. */
  reachable: boolean;
  /** Whose orphans were removed, and by whom. */
  cleared: string[];
  /** Ids of all instances, with who has them. */
  owners(): Promise<Record<string, string>>;
}

export async function playCluster(dataDir: string): Promise<PlayedCluster> {
  const behind = await createProcessDriver({ dataDir, daemon: daemonProgram });
  const owners = new Map<string, string>();
  /** By checkpoint. */
  const makers = new Map<string, string>();
  const requireReachable = () => {
    if (!cluster.reachable) throw new DriverError('unreachable', 'The cluster does not answer.');
  };
  const idsOf = async (is: (owner: string | undefined) => boolean) =>
    (await behind.list()).map(({ id }) => id).filter((id) => is(owners.get(id)));

  const hold = (instance: Instance, name: string): Instance =>
    new Proxy(instance, {
      get(target, property) {
        const value = Reflect.get(target, property, target) as unknown;
        if (property === 'destroy')
          return async () => {
            if (owners.get(instance.id) === name) await target.destroy();
          };
        if (property === 'checkpoint')
          return (options: CheckpointOptions) => {
            makers.set(options.checkpointId, name);
            return target.checkpoint(options);
          };
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const made = async (making: Promise<Instance>, name: string) => {
    const instance = await making;
    owners.set(instance.id, name);
    return hold(instance, name);
  };
  const open = (name: string): Driver => {
    const own: Partial<Driver> = {
      shared: {
        clusterId: 'played',
        holder: name,
        removeOrphans: async ({ holder, isLost }) => {
          if (await isLost()) cluster.cleared.push(`${holder} by ${name}`);
          return [];
        },
        hasInstance: async (id) => {
          requireReachable();
          return (await behind.adopt(id)) !== undefined;
        },
        hasCheckpoint: async (id) => {
          requireReachable();
          return (await behind.listCheckpoints()).some((checkpoint) => checkpoint.id === id);
        },
        hasLayers: async (ids) => {
          requireReachable();
          const there = new Set((await behind.layers.list()).map(({ id }) => id));
          return ids.every((id) => there.has(id));
        },
        hasVolume: async (id) => {
          requireReachable();
          return (await behind.volumes.list()).includes(id);
        },
        release: async () => {},
      },
      create: (options) => made(behind.create(options), name),
      restore: (options) => made(behind.restore(options), name),
      list: async () => (await behind.list()).filter(({ id }) => owners.get(id) === name),
      listCheckpoints: async () =>
        (await behind.listCheckpoints()).filter(({ id }) => makers.get(id) === name),
      adopt: async (id) => {
        requireReachable();
        const instance = await behind.adopt(id);
        if (instance === undefined) return undefined;
        owners.set(id, name);
        return hold(instance, name);
      },
      reap: async ({ instanceIds, checkpointIds }) =>
        behind.reap({
          instanceIds: [...instanceIds, ...(await idsOf((owner) => owner !== name))],
          checkpointIds,
        }),
      close: async () => {},
    };
    return new Proxy(behind, {
      get(target, property) {
        if (Object.hasOwn(own, property)) return Reflect.get(own, property) as unknown;
        const value = Reflect.get(target, property, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  const cluster: PlayedCluster = {
    open,
    reachable: true,
    cleared: [],
    owners: async () =>
      Object.fromEntries((await idsOf(() => true)).map((id) => [id, owners.get(id) ?? 'nobody'])),
    [Symbol.asyncDispose]: () => behind.close({ destroyInstances: true }),
  };
  return cluster;
}

import { daemonProgram } from '@svc/envd';
import type { Driver, Instance, Machine } from '@svc/runtime/contract';
import { createProcessDriver } from '@svc/runtime/process';
import { directoryTransfers } from './directory-transfers.js';

export interface MemoryDriver extends Driver {
  /** Runs before every restore; what it throws is the restore's failure. */
  beforeRestore: (signal: AbortSignal | undefined) => Promise<void>;
  /** Checkpoints that exist now. */
  readonly stored: ReadonlySet<string>;
}

/**
 * The process driver claiming memory snapshots: it stores and restores files only. For what the server does around them.
 * @param options.machine of a driver whose checkpoints other such drivers can copy
 */
export async function createMemoryDriver(
  dataDir: string,
  { machine }: { machine?: Machine } = {},
): Promise<MemoryDriver> {
  const behind = await createProcessDriver({ dataDir, daemon: daemonProgram });
  const stored = new Set<string>();
  const wrap = (instance: Instance): Instance =>
    new Proxy(instance, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown;
        if (name === 'checkpoint')
          return async (options: Parameters<Instance['checkpoint']>[0]) => {
            const made = await target.checkpoint({ ...options, memory: false });
            stored.add(options.checkpointId);
            return { ...made, memory: options.memory };
          };
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const own: Partial<MemoryDriver> & { beforeRestore: MemoryDriver['beforeRestore'] } = {
    capabilities: { ...behind.capabilities, memorySnapshot: true },
    stored,
    ...(machine === undefined ? {} : { transfers: directoryTransfers(dataDir, machine, stored) }),
    beforeRestore: () => Promise.resolve(),
    create: async (options) => wrap(await behind.create(options)),
    restore: async (options) => {
      await own.beforeRestore(options.signal);
      if (!stored.has(options.checkpointId))
        throw new Error(`there is no checkpoint ${options.checkpointId}`);
      return wrap(await behind.restore({ ...options, memory: false }));
    },
    deleteCheckpoint: async (id) => {
      stored.delete(id);
      await behind.deleteCheckpoint(id);
    },
  };
  return new Proxy(behind, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set(_target, name, value) {
      return Reflect.set(own, name, value);
    },
  }) as MemoryDriver;
}

/** Lets so many restores of a driver through; later ones wait until they are given up. @returns tells how many began */
export function holdRestores(
  driver: Pick<MemoryDriver, 'beforeRestore'>,
  { after }: { after: number },
): () => number {
  let began = 0;
  driver.beforeRestore = async (signal) => {
    began += 1;
    if (began <= after) return;
    await new Promise((_, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    );
  };
  return () => began;
}

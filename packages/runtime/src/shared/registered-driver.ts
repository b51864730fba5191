import type { PoolGrowth, PoolRequest, PoolState } from '../contract/driver.js';
import type { Instance, InstanceRecord } from '../contract/instance.js';
import type { InstanceRegistry, RegisteredInstance, StoredCheckpoint } from './instance-registry.js';

/** The calls of a driver that its registry answers alone. */
export abstract class RegisteredDriver<Item extends RegisteredInstance, Stored extends StoredCheckpoint> {
  protected abstract get registry(): InstanceRegistry<Item, Stored>;

  list(): Promise<InstanceRecord[]> {
    return this.registry.list();
  }

  adopt(id: string): Promise<Instance | undefined> {
    return this.registry.adopt(id);
  }

  listCheckpoints(): Promise<{ id: string; memory: boolean; sizeBytes: number }[]> {
    return this.registry.listCheckpoints();
  }

  deleteCheckpoint(checkpointId: string): Promise<void> {
    return this.registry.deleteCheckpoint(checkpointId);
  }

  setPool(requests: PoolRequest[], growth?: PoolGrowth): void {
    this.registry.setPool(requests, growth);
  }

  poolReady(): Promise<void> {
    return this.registry.poolReady();
  }

  async poolState(): Promise<PoolState> {
    return this.registry.poolState();
  }
}

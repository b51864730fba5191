import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Driver } from '../contract/driver.js';
import type { Instance, InstanceSpec } from '../contract/instance.js';
import { randomId } from '../shared/instance-id.js';
import { DaemonClient } from './daemon-client.js';

/** Makes a driver on a data directory; called again on the same one when a test restarts the driver. */
export type DriverFactory = (context: { dataDir: string }) => Promise<Driver> | Driver;

export interface MadeInstance {
  instance: Instance;
  client: DaemonClient;
}

/** One driver on one temporary data directory, shared by the tests of a suite. */
export class Workbench {
  readonly #factory: DriverFactory;
  readonly #parent: string | undefined;
  #dataDir: string | undefined;
  #driver: Driver | undefined;

  constructor(factory: DriverFactory, parent?: string) {
    this.#factory = factory;
    this.#parent = parent;
  }

  get driver(): Driver {
    if (this.#driver === undefined) throw new Error('The driver is not open.');
    return this.#driver;
  }

  get dataDir(): string {
    if (this.#dataDir === undefined) throw new Error('There is no data directory yet.');
    return this.#dataDir;
  }

  async open(): Promise<void> {
    this.#dataDir ??= await mkdtemp(join(this.#parent ?? tmpdir(), 'driver-'));
    this.#driver = await this.#factory({ dataDir: this.#dataDir });
  }

  /** Releases the driver as a stopping server does, and opens another on the same data directory. */
  async reopen(): Promise<Driver> {
    await this.driver.close();
    await this.open();
    return this.driver;
  }

  /** Opens a second driver on the same data directory, which must fail. */
  async openSecond(): Promise<void> {
    const second = await this.#factory({ dataDir: this.dataDir });
    await second.close();
  }

  async close(): Promise<void> {
    await this.#driver?.close({ destroyInstances: true });
    this.#driver = undefined;
  }

  async remove(): Promise<void> {
    if (this.#dataDir !== undefined) await rm(this.#dataDir, { recursive: true, force: true });
  }

  spec(fields: Partial<InstanceSpec> = {}): InstanceSpec {
    return { layers: [], limits: {}, network: { egress: 'internet' }, mounts: [], labels: {}, ...fields };
  }

  async create(fields: Partial<InstanceSpec> = {}, id = randomId()): Promise<MadeInstance> {
    const instance = await this.driver.create({ id, spec: this.spec(fields) });
    return { instance, client: new DaemonClient(instance) };
  }

  async restore(checkpointId: string, memory: boolean, id = randomId()): Promise<MadeInstance> {
    const instance = await this.driver.restore({ id, checkpointId, memory, spec: this.spec() });
    return { instance, client: new DaemonClient(instance) };
  }

  /** Destroys what a test left, checkpoints and unused layers included. */
  async sweep(): Promise<void> {
    const { driver } = this;
    driver.setPool([]);
    await driver.poolReady();
    await driver.reap({ instanceIds: [], checkpointIds: [] });
    for (const { id } of await driver.layers.list()) await driver.layers.delete(id);
  }
}

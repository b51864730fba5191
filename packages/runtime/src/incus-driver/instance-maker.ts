import { Semaphore } from '#support/semaphore';
import { DriverError, type DriverErrorCode } from '../contract/errors.js';
import type { InstanceSpec } from '../contract/instance.js';
import { IncusError } from '../incus/incus-error.js';
import { DAEMON_PORT } from '../shared/dial-instance.js';
import { randomId } from '../shared/instance-id.js';
import { waitForDaemon } from '../shared/readiness.js';
import type { RetryLater } from '../shared/retry-later.js';
import type { IncusCheckpoint } from './checkpoint-records.js';
import { driverError, isNameTaken } from './driver-error.js';
import type { IncusDriverParts } from './driver-parts.js';
import type { IncusInstance, IncusRecord } from './incus-instance.js';
import { instanceConfig, instanceDevices } from './instance-config.js';
import { keys, sandboxName } from './keys.js';
import { requireNetwork } from './network/require-network.js';
import { NO_MOUNTS, type PlacedMounts } from './volumes/place-mounts.js';

const BOOT_TIMEOUT_MS = 120_000;
/** Starts at once: each member has its own processors, and Incus' database takes changes one after another. */
const BOOTS = 6;
/** Addresses that are tried for one instance, when other servers take them at the same moment. */
const ADDRESS_TRIES = 8;

export interface MakeOptions {
  /** Undefined: of the pool, whose instances get one later. */
  id: string | undefined;
  spec: InstanceSpec;
  state: 'pooled' | 'live';
  signal: AbortSignal | undefined;
  checkpoint?: IncusCheckpoint;
  /** Member that it is to run on. Default: the one of its volumes; of a checkpoint, where that is; else Incus chooses. */
  target?: string | undefined;
  /** Volumes, and where they are. */
  mounts?: PlacedMounts | undefined;
}

/** Another server has made an instance at the address. */
class AddressTakenError extends Error {
  constructor(address: string, options: { cause: unknown }) {
    super(`${address} is taken`, options);
  }
}

export interface InstanceMakerOptions {
  parts: IncusDriverParts;
  cleanUp: RetryLater;
  /** Names of instances that are being made: the reaper keeps off. */
  making: Set<string>;
  /** Takes in what is made. */
  hold(record: IncusRecord): IncusInstance;
}

/** Makes instances in Incus, and takes back what could not be made to its end. */
export class InstanceMaker {
  readonly #options: InstanceMakerOptions;
  readonly #boots = new Semaphore(BOOTS);

  constructor(options: InstanceMakerOptions) {
    this.#options = options;
  }

  get #parts(): IncusDriverParts {
    return this.#options.parts;
  }

  /** Makes an instance at an address that no other server takes meanwhile: who has made the instance has the address. */
  async make(options: MakeOptions): Promise<IncusInstance> {
    const { addresses } = this.#parts;
    for (let tries = 1; ; tries += 1) {
      const address = addresses.take();
      try {
        return await this.#makeAt(address, options);
      } catch (error) {
        if (!(error instanceof AddressTakenError)) throw error;
        addresses.leave(address);
        if (tries === ADDRESS_TRIES)
          throw new DriverError('no_capacity', 'There is no room for another sandbox.', {
            cause: error,
            detail: `other servers had each of ${tries} addresses that were tried`,
          });
      }
    }
  }

  async #makeAt(address: string, options: MakeOptions): Promise<IncusInstance> {
    const { spec, state, signal, checkpoint, mounts = NO_MOUNTS } = options;
    const target = options.target ?? mounts.location;
    const { cluster, dial, owner, command, pool, parent, fenced, options: given } = this.#parts;
    const mode = requireNetwork(spec.network, { fenced });
    const name = sandboxName(address);
    const unique = randomId();
    const id = options.id ?? name;
    const layers = checkpoint?.layers ?? spec.layers;
    const createdAtMs = (given.now ?? Date.now)();
    const failed: { code: DriverErrorCode; message: string } =
      checkpoint === undefined
        ? { code: 'create_failed', message: 'The sandbox could not be started.' }
        : { code: 'restore_failed', message: 'The sandbox could not be restored.' };
    this.#options.making.add(name);
    try {
      return await this.#boots.run(async () => {
        signal?.throwIfAborted();
        const body = (imageBytes: number) => ({
          name,
          config: {
            ...instanceConfig({
              spec,
              owner,
              unique,
              state,
              id,
              layers,
              createdAtMs,
              command,
            }),
            [keys.imageBytes]: String(imageBytes),
          },
          devices: instanceDevices({
            pool,
            parent,
            address,
            mode,
            limits: spec.limits,
            imageBytes,
            mounts: mounts.devices,
          }),
        });
        // Not aborted half-way: what Incus makes in the background could not be removed yet.
        const imageBytes =
          checkpoint === undefined
            ? await this.#createOfImage(body, { layers, target, signal })
            : await this.#createOfCheckpoint(body, checkpoint, target);
        signal?.throwIfAborted();
        const [made] = await Promise.all([
          cluster.find(name),
          waitForDaemon((abort) => dial(address, DAEMON_PORT, abort), { timeoutMs: BOOT_TIMEOUT_MS, signal }),
        ]);
        const record: IncusRecord = {
          name,
          unique,
          id,
          state,
          labels: { ...spec.labels },
          layers: [...layers],
          limits: spec.limits,
          createdAtMs,
          address,
          card: mode,
          bare: false,
          imageBytes,
          location: made?.location ?? 'none',
        };
        return this.#options.hold(record);
      });
    } catch (error) {
      await this.discard({ name, address, unique });
      if (isNameTaken(error)) throw new AddressTakenError(address, { cause: error });
      signal?.throwIfAborted();
      const translatedError = driverError(error, failed);
      if (
        DriverError.is(translatedError) &&
        ['timeout', 'instance_gone', 'port_closed'].includes(translatedError.code)
      ) {
        throw new DriverError(failed.code, failed.message, { cause: error, detail: translatedError.message });
      }
      throw translatedError;
    } finally {
      this.#options.making.delete(name);
    }
  }

  /** @returns bytes of the image */
  async #createOfImage(
    body: (imageBytes: number) => Record<string, unknown>,
    options: { layers: readonly string[]; target: string | undefined; signal: AbortSignal | undefined },
  ): Promise<number> {
    const { layers, target, signal } = options;
    const { images, cluster } = this.#parts;
    const attempt = async () => {
      const { fingerprint, sizeBytes } = await images.require(layers);
      signal?.throwIfAborted();
      await cluster.create(
        { ...body(sizeBytes), source: { type: 'image', fingerprint } },
        { start: true, ...(target === undefined ? {} : { target }) },
      );
      return sizeBytes;
    };
    try {
      return await attempt();
    } catch (error) {
      if (!IncusError.is(error) || !/image.*not found|not found.*image/i.test(error.message)) throw error;
      // Somebody deleted the image that this process had seen: it is made again.
      images.forget();
      return attempt();
    }
  }

  /** On the member that has it, or that has the volumes. @returns bytes of the image that its source was made of */
  async #createOfCheckpoint(
    body: (imageBytes: number) => Record<string, unknown>,
    { name, imageBytes }: IncusCheckpoint,
    location: string | undefined,
  ): Promise<number> {
    const { cluster } = this.#parts;
    const made = body(imageBytes);
    const target = location ?? (await cluster.find(name))?.location;
    const source = { type: 'copy', source: name, instance_only: true };
    await cluster.create({ ...made, source }, { start: false, ...(target === undefined ? {} : { target }) });
    await cluster.changeState(String(made.name), 'start');
    return imageBytes;
  }

  /** Frees what was made so far, unless another server has it. What cannot be freed now is freed later. */
  async discard({ name, address, unique }: Pick<IncusRecord, 'name' | 'address' | 'unique'>): Promise<void> {
    const { cluster, addresses, owner } = this.#parts;
    await this.#options.cleanUp.attempt(`instance ${name}`, async () => {
      await cluster.remove(name, { [keys.owner]: owner, [keys.unique]: unique });
      addresses.release(address);
    });
  }
}

import { DriverError } from '../contract/errors.js';
import type { InstanceStats } from '../contract/instance.js';
import type { StatsResponse } from '../gen/driver/driver_pb.js';
import { MAX_STATS } from './check.js';
import { failureFromWire, statsFromWire } from './wire.js';

interface Asked {
  handle: string;
  resolve(stats: InstanceStats): void;
  reject(error: unknown): void;
}

/** Asks for the use of several instances in one call, where that is asked for in one turn of the event loop. */
export class StatsBatch {
  readonly #call: (handles: string[]) => Promise<StatsResponse>;
  #asked: Asked[] = [];

  constructor(call: (handles: string[]) => Promise<StatsResponse>) {
    this.#call = call;
  }

  /** @throws {DriverError} what the instance's own `stats` throws; `unreachable`, `closed` */
  of(handle: string): Promise<InstanceStats> {
    return new Promise((resolve, reject) => {
      if (this.#asked.push({ handle, resolve, reject }) === 1) setImmediate(() => this.#send());
      if (this.#asked.length === MAX_STATS) this.#send();
    });
  }

  #send(): void {
    const asked = this.#asked;
    this.#asked = [];
    if (asked.length > 0) void this.#ask(asked);
  }

  async #ask(asked: readonly Asked[]): Promise<void> {
    try {
      const handles = asked.map(({ handle }) => handle);
      const { outcomes } = await this.#call(handles);
      for (const [index, { resolve, reject }] of asked.entries()) {
        const outcome = outcomes[index]?.outcome;
        if (outcome?.case === 'stats') resolve(statsFromWire(outcome.value));
        else if (outcome?.case === 'failure') reject(failureFromWire(outcome.value));
        else reject(new DriverError('unreachable', 'The sandbox runtime gave no figures.'));
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}

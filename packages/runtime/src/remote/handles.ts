import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceEnd } from '../contract/instance.js';

/** Names for instances that mean the same one for as long as this process lives. Ids are used again after an end. */
export class InstanceHandles {
  readonly #byHandle = new Map<string, Instance>();
  readonly #handles = new WeakMap<Instance, string>();
  readonly #onEnd: (handle: string, end: InstanceEnd) => void;
  #next = 1;

  constructor(onEnd: (handle: string, end: InstanceEnd) => void) {
    this.#onEnd = onEnd;
  }

  /** The instance's handle, a new one at the first call. */
  of(instance: Instance): string {
    const known = this.#handles.get(instance);
    if (known !== undefined) return known;
    const handle = String(this.#next++);
    this.#handles.set(instance, handle);
    this.#byHandle.set(handle, instance);
    void instance.ended.then((end) => {
      this.#onEnd(handle, end);
    });
    return handle;
  }

  /** @throws {DriverError} `instance_gone` for a handle that was never given out or is forgotten */
  get(handle: string): Instance {
    const instance = this.#byHandle.get(handle);
    if (instance === undefined) throw new DriverError('instance_gone', 'The sandbox has ended.');
    return instance;
  }

  /** Undefined for one that was destroyed. */
  find(handle: string): Instance | undefined {
    return this.#byHandle.get(handle);
  }

  /** Once an instance is destroyed nobody needs its handle. */
  forget(handle: string): void {
    this.#byHandle.delete(handle);
  }
}

import {
  type CreateOptions,
  type Driver,
  DriverError,
  type Instance,
  type RestoreOptions,
} from '@svc/runtime/contract';
import type { Fault } from './target.js';

/** A driver whose creates fail as asked. Everything else is the driver's behind it, but that it may claim mounts. */
export function createFaultyDriver(
  behind: Driver,
  options: { mounts: boolean },
): Driver & { setFault(fault: Fault): void } {
  let fault: Fault = 'none';
  let release: () => void = () => {};

  const meet = async (options: CreateOptions): Promise<void> => {
    switch (fault) {
      case 'none':
      case 'busy':
        return;
      case 'hang':
        return aborted(options.signal);
      case 'hold':
        return new Promise((resolve) => {
          release = resolve;
        });
      case 'create_failed':
        throw new DriverError('create_failed', 'the sandbox files were not found');
      case 'no_capacity':
        throw new DriverError('no_capacity', 'every node is full');
      case 'unsupported':
        throw new DriverError('unsupported', 'no node can do this');
      case 'unknown':
        throw new Error('a secret detail of the host');
    }
  };

  return new Proxy(behind, {
    get(target, name) {
      if (name === 'setFault')
        return (next: Fault) => {
          fault = next;
          release();
        };
      if (name === 'capabilities') return { ...target.capabilities, mounts: options.mounts };
      if (name === 'create')
        return async (options: CreateOptions) => {
          await meet(options);
          return wrap(await target.create(options), () => fault);
        };
      if (name === 'restore')
        return async (options: RestoreOptions) => {
          await meet(options);
          return wrap(await target.restore(options), () => fault);
        };
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  }) as Driver & { setFault(fault: Fault): void };
}

function wrap(instance: Instance, fault: () => Fault): Instance {
  const refuse = () => {
    if (fault() === 'busy') throw new DriverError('busy', 'the node is busy');
  };
  return new Proxy(instance, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      const call = (value as (...args: unknown[]) => unknown).bind(target);
      if (name !== 'freeze' && name !== 'checkpoint') return call;
      return async (...args: unknown[]) => {
        refuse();
        return call(...args);
      };
    },
  });
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

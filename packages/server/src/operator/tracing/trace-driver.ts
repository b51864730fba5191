import type { Driver, Instance } from '@svc/runtime/contract';
import type { Tracer } from '../../api/context/tracer.js';

const ofDriver = new Set(['create', 'restore', 'deleteCheckpoint']);
const ofInstance = new Set([
  'checkpoint',
  'commitLayer',
  'freeze',
  'thaw',
  'setForwarded',
  'setNetwork',
  'destroy',
]);

/** The driver, with a span for each call that changes an instance. */
export function traceDriver(driver: Driver, tracer: Tracer): Driver {
  return traced(driver, tracer, 'driver', ofDriver, (result) =>
    isInstance(result) ? traceInstance(result, tracer) : result,
  );
}

function traceInstance(instance: Instance, tracer: Tracer): Instance {
  return traced(instance, tracer, 'instance', ofInstance, (result) => result);
}

function traced<T extends object>(
  target: T,
  tracer: Tracer,
  prefix: string,
  names: ReadonlySet<string>,
  wrap: (result: unknown) => unknown,
): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = (...given: unknown[]): unknown => value.apply(target, given);
      if (typeof name !== 'string') return call;
      if (name === 'adopt') return async (...given: unknown[]) => wrap(await call(...given));
      if (!names.has(name)) return call;
      return (...given: unknown[]) =>
        tracer.span(`${prefix}.${name}`, { kind: 'client' }, async () => wrap(await call(...given)));
    },
  });
}

function isInstance(value: unknown): value is Instance {
  return typeof value === 'object' && value !== null && 'dial' in value;
}

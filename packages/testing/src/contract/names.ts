import { daemonOperations, Filesystem, Process } from '@svc/daemon';
import type { OperationId } from '@svc/platform';
import { operations } from './operations.js';

type MethodOf<Service extends { method: object }> = Capitalize<keyof Service['method'] & string>;

/**
 * Name of an operation of the platform API, of the volume content API or of the daemon, or of an RPC as
 * `process.Process/Start`. The daemon's health route is `daemon.getHealth`.
 */
export type OperationName =
  | OperationId
  | Exclude<keyof typeof daemonOperations, 'getHealth'>
  | 'daemon.getHealth'
  | `process.Process/${MethodOf<typeof Process>}`
  | `filesystem.Filesystem/${MethodOf<typeof Filesystem>}`;

/** All of them. */
export const operationNames: ReadonlySet<string> = new Set([
  ...operations.map(({ id }) => id),
  ...Object.keys(daemonOperations).map((id) => (id === 'getHealth' ? 'daemon.getHealth' : id)),
  ...[Process, Filesystem].flatMap(({ typeName, methods }) =>
    methods.map(({ name }) => `${typeName}/${name}`),
  ),
]);

const daemonPlaces = new Map(
  Object.entries(daemonOperations).map(([id, { method, path }]) => [
    `${method} ${path}`,
    id === 'getHealth' ? 'daemon.getHealth' : id,
  ]),
);

/** Returns the operation that a request to a daemon means; undefined when the contract has no such operation. */
export function daemonOperationOf(method: string, pathname: string): string | undefined {
  const rpc = pathname.slice(1);
  return operationNames.has(rpc) && rpc.includes('/') ? rpc : daemonPlaces.get(`${method} ${pathname}`);
}

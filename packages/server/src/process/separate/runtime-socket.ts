import { join } from 'node:path';

/** The socket of a data directory's `svc-runtime`: the service user cannot enter root's part, so it is beside that. */
export const runtimeSocket = (dataDir: string): string => join(dataDir, 'runtime.sock');

/** File with the token of a `svc-runtime` that runs by itself, for root and the service user's group. */
export const runtimeTokenFile = (socketPath: string): string => `${socketPath}.token`;

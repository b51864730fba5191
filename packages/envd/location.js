import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const directory = join(dirname(fileURLToPath(import.meta.url)), 'dist');

/** Where the built daemon is. */
export const daemonProgram = { entry: join(directory, 'envd.cjs'), directory };

/** Version of the daemon's interface, as sandboxes report it. */
export const envdVersion = '0.6.13';

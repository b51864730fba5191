import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const directory = join(dirname(fileURLToPath(import.meta.url)), 'dist');

/** Where the built daemon for this machine is. */
export const daemonProgram = { entry: join(directory, `envd-${process.platform}-${process.arch}`) };

/** Version of the daemon's interface, as sandboxes report it. */
export const envdVersion = '0.6.13';

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the built files are. */
export const dashboardDirectory = join(dirname(fileURLToPath(import.meta.url)), 'dist');

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// CommonJS knows its own file by another name alone, and code given to `node -e` has that name too: it says nothing there.
const here = (import.meta.url as string | undefined) ?? __filename;
const directory = join(dirname(createRequire(here).resolve('@svc/egress/package.json')), 'dist');

/** Where the built egress process is: one CommonJS file that needs nothing beside it. */
export const egressProgram = { entry: join(directory, 'egress.cjs'), directory };

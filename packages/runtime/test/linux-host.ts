import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DaemonProgram } from '../src/index.js';
import { missingForLinux } from '../src/linux-driver/index.js';

const directory = fileURLToPath(new URL('../../envd/dist', import.meta.url));

export const daemonProgram: DaemonProgram = { entry: `${directory}/envd.cjs`, directory };

/** Why tests of the linux driver cannot run here. Undefined: they can. */
export function linuxSkipReason(): string | undefined {
  const missing = missingForLinux({});
  if (!existsSync(daemonProgram.entry))
    missing.push('The daemon is not built (npm run build -w packages/envd).');
  return missing.length === 0 ? undefined : missing.join(' ');
}

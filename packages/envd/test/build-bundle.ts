import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The tests run against the program as it ships. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../build.mjs', import.meta.url))], {
    stdio: 'inherit',
  });
}

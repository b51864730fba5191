import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The tests run against the program as it ships; the gate has just built it, and other tests use it meanwhile. */
export default function setup(): void {
  if (process.env.SVC_TEST_BUILT === '1') return;
  execFileSync(process.execPath, [fileURLToPath(new URL('../build.mjs', import.meta.url))], {
    stdio: 'inherit',
  });
}

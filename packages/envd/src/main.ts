import { closeSync, writeSync } from 'node:fs';
import type { ServicesPart } from './server/app.js';
import { startDaemon } from './server/daemon.js';
import { type DaemonOptions, parseOptions } from './server/options.js';

export { exercise } from './warm-up/exercise.js';

/** Runs the daemon as the command line says. */
export function main(loadServices: () => ServicesPart): void {
  let options: DaemonOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    fail((error as Error).message);
    return;
  }
  const { readyFd } = options;
  startDaemon(options, loadServices, {
    ready(port) {
      if (readyFd === undefined) return;
      writeSync(readyFd, `${JSON.stringify({ port })}\n`);
      closeSync(readyFd);
    },
    failed: (error) => fail(error.message),
  });
}

function fail(message: string): void {
  process.stderr.write(`envd: ${message}\n`);
  process.exitCode = 1;
}

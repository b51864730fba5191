import { closeSync, writeSync } from 'node:fs';
import { startDaemon } from './server/daemon.js';
import { type DaemonOptions, parseOptions } from './server/options.js';

function main(): void {
  let options: DaemonOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    fail((error as Error).message);
    return;
  }
  const { readyFd } = options;
  startDaemon(options, {
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

main();

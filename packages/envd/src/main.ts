import { closeSync, writeSync } from 'node:fs';
import { createApp, type ServicesPart } from './app.js';
import { startDaemon } from './daemon.js';
import { type DaemonOptions, parseOptions } from './options.js';
import { OpenTerminals } from './process/open-terminals.js';
import { createPipeSource } from './process/pipes.js';
import { exercise as rehearse } from './startup/exercise.js';

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

/** Does once what the daemon is there for, so that all of it is compiled. */
export function exercise(loadServices: () => ServicesPart): Promise<void> {
  return rehearse((home) => {
    const pipes = createPipeSource(home);
    const resources = { pipes, terminals: new OpenTerminals(), loadServices };
    return {
      needed: [pipes.prepare],
      makeHandler: () => createApp({ singleUser: { home } }, resources).handle,
    };
  });
}

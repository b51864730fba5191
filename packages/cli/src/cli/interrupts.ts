import { Interrupted } from '../errors/cli-error.js';

/**
 * Turns Ctrl+C, SIGTERM and SIGHUP into an aborted signal, so that commands tidy up. A second one ends the process at
 * once.
 */
export function listenForInterrupts(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      const reason = new Interrupted(name);
      if (controller.signal.aborted) process.exit(reason.exitCode);
      controller.abort(reason);
    });
  }
  return controller.signal;
}

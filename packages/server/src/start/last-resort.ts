import type { Log } from '../context.js';

const WINDOW_MS = 60_000;
/** More errors than this within the window, and the process is not worth keeping. */
const MAX_ERRORS = 20;

/**
 * Keeps a server process alive over an error that nobody caught: one connection's bug, met by one sandbox or one
 * client, must not end the service for all. Every such error is a defect of ours and is logged as one. When they do not
 * stop, the process ends, because what it holds can no longer be trusted; sandboxes outlive it.
 * @returns what removes it again.
 */
export function installLastResort(log: Log, exit: (code: number) => void = process.exit): () => void {
  let times: number[] = [];
  const onError = (error: unknown) => {
    const now = performance.now();
    times = [...times.filter((time) => now - time < WINDOW_MS), now];
    log.error({ err: error, count: times.length }, 'an error was caught by nobody: please report it');
    if (times.length <= MAX_ERRORS) return;
    log.error({}, `more than ${MAX_ERRORS} such errors within ${WINDOW_MS / 1000} s: the process ends`);
    exit(1);
  };
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  return () => {
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onError);
  };
}

import type { Log } from '../api/context/context.js';

const WINDOW_MS = 60_000;
/** More survived errors than this within the window, and the process is not worth keeping. */
const MAX_ERRORS = 20;
/** Longest that an orderly end may take, ms. */
const END_MS = 20_000;

/** Errors of one connection: they say nothing about the state of this process. */
const CONNECTION_ERRORS = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTCONN',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ETIMEDOUT',
]);

export interface CrashGuard {
  log: Log;
  /** Ends the server in order; sandboxes run on. */
  end(): Promise<unknown>;
  /** Default `process.exit`. */
  exit?: (code: number) => void;
}

/**
 * Decides what becomes of the process after an error that nobody caught. Each is a defect of ours and is logged with its
 * stack. A broken connection and a failed promise concern one sandbox or one client: the server continues. An exception out
 * of anywhere else may have left things half changed: the server ends in order, with code 1, and its supervisor
 * starts it again; sandboxes and their programs continue meanwhile. It also ends when survived errors do not stop.
 * @returns what removes it again.
 */
export function installCrashGuard({ log, end, exit = process.exit }: CrashGuard): () => void {
  let times: number[] = [];
  let ending = false;
  const endInOrder = () => {
    if (ending) return;
    ending = true;
    const late = setTimeout(() => exit(1), END_MS);
    end()
      .catch((error: unknown) => log.error({ err: error }, 'the server did not end in order'))
      .finally(() => {
        clearTimeout(late);
        exit(1);
      });
  };
  const survive = (error: unknown) => {
    const now = performance.now();
    times = [...times.filter((time) => now - time < WINDOW_MS), now];
    log.error({ err: error, count: times.length }, 'uncaught error: please report it');
    if (times.length <= MAX_ERRORS) return;
    log.error({}, `more than ${MAX_ERRORS} such errors within ${WINDOW_MS / 1000} s: the server ends`);
    endInOrder();
  };
  const onException = (error: unknown) => {
    if (CONNECTION_ERRORS.has(String((error as { code?: unknown } | null)?.code))) return survive(error);
    log.error({ err: error }, 'uncaught exception: the server stops; please report it');
    endInOrder();
  };
  process.on('uncaughtException', onException);
  process.on('unhandledRejection', survive);
  return () => {
    process.off('uncaughtException', onException);
    process.off('unhandledRejection', survive);
  };
}

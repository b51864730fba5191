/** Where log lines go. `console` is one. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Lowest level of the lines that are written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'off';

const weights: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3, off: 4 };

/** Returns true for a text that names a log level. */
export function isLogLevel(text: string | undefined): text is LogLevel {
  return text !== undefined && Object.hasOwn(weights, text);
}

/** A logger that drops lines below a level, and never lets the caller's logger break a call. */
export function createLogger(logger: Logger, level: LogLevel): Logger & { readonly debugs: boolean } {
  const write =
    (weight: Exclude<LogLevel, 'off'>) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      if (weights[weight] < weights[level]) return;
      try {
        logger[weight](`[svc] ${message}`, fields);
      } catch {
        // A logger that throws must not turn a good answer into a failure.
      }
    };
  return {
    debugs: weights[level] === 0,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
}

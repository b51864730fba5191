import { pino } from 'pino';
import type { Log } from '../api/context/context.js';
import type { LogLevel } from '../config/options.js';
import { settings } from '../config/settings.js';

/** The server's log: one JSON line per entry on stderr. Names that carry secrets are blanked wherever they stand. */
export function createLogger(level: LogLevel = settings.logLevel.default): Log {
  const secret = [
    'authorization',
    'apiKey',
    'operatorToken',
    'token',
    'accessToken',
    'value',
    'signatureSecret',
    'password',
    'envVars',
  ];
  return pino(
    {
      level,
      base: null,
      redact: {
        paths: [...secret, ...secret.map((name) => `*.${name}`), '*["x-api-key"]', '*["x-access-token"]'],
        censor: '[redacted]',
      },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    pino.destination({ dest: 2, sync: true }),
  ) as unknown as Log;
}

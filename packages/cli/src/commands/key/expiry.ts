import { UsageError } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';

/** Help of `--expires`. */
export const expiryHelp = 'when it stops working: 30d from now, or 2027-01-31T12:00:00Z (default: never)';

/** Reads a time to come: a span from now, or a time. Pure but for `now`. */
export function parseExpiry(text: string, now: number = Date.now()): Date {
  const time = /^[\d.]+(ms|s|m|h|d)/.test(text) ? new Date(now + parseDuration(text)) : new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`"${text}" is not a time.`, 'Examples: 30d from now, or 2027-01-31T12:00:00Z.');
  if (time.getTime() <= now) throw new UsageError(`--expires must be in the future, got "${text}".`);
  return time;
}

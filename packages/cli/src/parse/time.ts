import { UsageError } from '../errors/cli-error.js';
import { parseDuration } from './duration.js';

/** Reads a time: `2026-01-31T12:00:00Z`, or a span before now such as `10m`. Pure but for `now`. */
export function parseTime(text: string, now: number = Date.now()): Date {
  if (/^[\d.]+(ms|s|m|h|d)/.test(text)) return new Date(now - parseDuration(text));
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) {
    throw new UsageError(
      `"${text}" is not a time.`,
      'Examples: 2026-01-31T12:00:00Z, or 10m for ten minutes ago.',
    );
  }
  return time;
}

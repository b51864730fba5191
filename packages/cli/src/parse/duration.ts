import { UsageError } from '../errors/cli-error.js';

const factors: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a span such as `90s`, `5m`, `1h30m`; a bare number counts seconds. Gives milliseconds. Pure. */
export function parseDuration(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new UsageError(
      `"${text}" is not a duration.`,
      'Examples: 90s, 5m, 1h30m, 2d; a bare number counts seconds.',
    );
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * factors[unit!]!, 0);
}

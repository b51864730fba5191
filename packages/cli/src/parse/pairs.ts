import { UsageError } from '../errors/cli-error.js';

/** Collects repeated `NAME=value`. Values may hold `=`; a later name wins. For use with commander. */
export function collectPairs(text: string, soFar: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at <= 0) throw new UsageError(`"${text}" is not of the form NAME=value.`);
  return { ...soFar, [text.slice(0, at)]: text.slice(at + 1) };
}

/**
 * Collects repeated values; commas separate several.
 * @throws {UsageError} for an empty one: what a variable that is not set leaves of `--deny-out "$DENY"` must not read as nothing to deny
 */
export function collectList(text: string, soFar: string[] = []): string[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.includes('')) throw new UsageError(`"${text}" has an empty value in it.`);
  return [...soFar, ...parts];
}

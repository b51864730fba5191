/** Beginnings of addresses that look public, which nobody but one test has: other suites run on this machine at the same time. */
const BEGINNINGS = Array.from({ length: 12 }, (_, at) => `203.0.${116 + at}`);

/**
 * Finds addresses for a test.
 * @param take makes a route of its own for `<beginning>.x`, and says false where there is one already
 * @returns the beginning; undefined where none could be taken
 */
export function takeAddresses(take: (beginning: string) => boolean): string | undefined {
  return BEGINNINGS.find((beginning) => take(beginning));
}

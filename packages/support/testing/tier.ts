import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const table = JSON.parse(
  readFileSync(new URL('../../../scripts/test-tiers.json', import.meta.url), 'utf8'),
) as {
  nightly: string[];
  postgres: string[];
};

/**
 * True in the gate, where each behaviour is tried once: on the driver or database that decides it. The nightly tier, and a file that
 * somebody runs by hand, multiply: every driver, every database, every count.
 */
export const isGate = process.env.SVC_TIER === 'gate';

/** Patterns of a package's test files that the gate leaves to the nightly tier, relative to the package. */
export const nightlyFiles = (directory: string): string[] => within(directory, table.nightly);

/** Patterns of a package's test files that the gate runs on PostgreSQL, relative to the package. */
export const postgresFiles = (directory: string): string[] => within(directory, table.postgres);

function within(directory: string, patterns: readonly string[]): string[] {
  const folder = `${relative(root, directory)}/`;
  return patterns
    .filter((pattern) => pattern.startsWith(folder))
    .map((pattern) => pattern.slice(folder.length));
}

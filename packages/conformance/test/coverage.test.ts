import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readReasons } from '../src/coverage/reasons.js';
import { daemon, platform, volumes } from '../src/wire/documents.js';

const root = new URL('../../../', import.meta.url);
const documents = new Map([platform, volumes, daemon].map((one) => [one.name, one]));

describe('every answer that the table of coverage says is produced elsewhere', () => {
  it.each(readReasons())('$document $operation $status by $test', ({ document, operation, status, test }) => {
    const file = new URL(test, root);
    expect(existsSync(file), `${test} exists`).toBe(true);
    const text = readFileSync(file, 'utf8');
    expect(text, `${test} expects ${status}`).toMatch(new RegExp(`\\b${status}\\b`));
    if (operation !== '*') expect(text, `${test} names ${operation}`).toContain(operation);
    const operations = [...documents.get(document)!.operations.values()].filter(
      ({ id }) => operation === '*' || id === operation,
    );
    expect(
      operations.some(({ statuses }) => statuses.includes(status)),
      'the document lists it',
    ).toBe(true);
  });
});

import { expect, it } from 'vitest';
import { parseNotBefore } from '../../src/api/wire/time.js';

it.each([
  ['2026-01-01T00:00:00Z', 0],
  ['2026-01-01T00:00:00.001Z', 1],
  ['2026-01-01T00:00:00.001000Z', 1],
  // A sandbox that began in this millisecond began before it.
  ['2026-01-01T00:00:00.001001Z', 2],
  ['2026-01-01T00:00:00.000999Z', 1],
  ['2026-01-01T01:00:00.0005+01:00', 1],
  // Finer than a microsecond is cut off.
  ['2026-01-01T00:00:00.001000999Z', 1],
])('%s is not before the millisecond %i', (text, ms) => {
  expect(parseNotBefore(text) - Date.UTC(2026, 0, 1)).toBe(ms);
});

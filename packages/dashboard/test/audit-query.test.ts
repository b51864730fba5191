import { describe, expect, it } from 'vitest';
import { fromLocalField, readAuditFilter, toLocalField } from '../src/format/audit-query.js';

const NOW = Date.UTC(2026, 10, 25, 12);

describe('the filter that an address stands for', () => {
  it('is what its members say, and nothing for those that are empty', () => {
    const query = { team: 'research', actor: 'key', operation: '', resource: 'i1', outcome: 'refused' };
    expect(readAuditFilter(query, NOW)).toEqual({
      team: 'research',
      actor: 'key',
      operation: undefined,
      resourceId: 'i1',
      outcome: 'refused',
      from: undefined,
      until: undefined,
    });
  });

  it('takes a span of time from now on, or two times, or neither where they are none', () => {
    const timesOf = (query: Record<string, string>) => {
      const { from, until } = readAuditFilter(query, NOW);
      return [from?.toISOString(), until?.toISOString()];
    };
    const from = '2026-11-01T00:00:00.000Z';
    const until = '2026-11-02T00:00:00.000Z';
    expect(timesOf({ last: '1h' })).toEqual(['2026-11-25T11:00:00.000Z', undefined]);
    expect(timesOf({ last: '1h', from, until })).toEqual(['2026-11-25T11:00:00.000Z', undefined]);
    expect(timesOf({ from, until })).toEqual([from, until]);
    expect(timesOf({ last: 'between', until })).toEqual([undefined, until]);
    for (const nonsense of ['soon', '2026-13-01T00:00:00Z', '<b>', 'toString'])
      expect(timesOf({ last: nonsense, from: nonsense, until: nonsense })).toEqual([undefined, undefined]);
  });
});

it('writes times for a field of the clock of the reader, and reads them back', () => {
  for (const time of ['2026-11-25T17:05:09.000Z', '2026-07-01T00:00:00.000Z'])
    expect(fromLocalField(toLocalField(time))).toBe(time);
  expect(toLocalField('2026-11-25T17:05:09.123Z')).toMatch(/^2026-11-2\dT\d\d:\d\d:09$/);
  for (const none of [undefined, '', 'soon']) expect(toLocalField(none)).toBe('');
  expect(fromLocalField('')).toBe('');
});

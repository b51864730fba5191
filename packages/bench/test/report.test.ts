import { describe, expect, it } from 'vitest';
import { placeTable, quantile, renderTable, rows, summarize } from '../src/index.js';

describe('figures', () => {
  it('are medians and quantiles between the values', () => {
    expect(summarize([4, 1, 3, 2])).toEqual({
      count: 4,
      p50: 2.5,
      p95: expect.closeTo(3.85),
      min: 1,
      max: 4,
    });
    expect(quantile([7], 0.95)).toBe(7);
    expect(() => summarize([])).toThrow('nothing was measured');
  });
});

describe('the table', () => {
  const figure = {
    id: 'a',
    what: 'a thing',
    value: 20,
    unit: 'ms' as const,
    beside: [
      { name: 'rival', value: 40, unit: 'ms' as const },
      { name: 'size', value: 2, unit: 'kB' as const },
    ],
    target: { text: '<= 15 ms', met: false },
    how: '3 runs',
  };

  it('shows ratios where units agree, and says what was missed and skipped', () => {
    const table = renderTable([
      { row: 'a', figures: [figure] },
      { row: 'b', figures: [], skipped: 'no such kernel' },
    ]);
    expect(table).toContain('rival 40.0 ms (0.50 x); size 2.00 kB');
    expect(table).toContain('**missed**');
    expect(table).toContain('Not measured: b (no such kernel).');
  });

  it('goes between its marks and nowhere else', () => {
    expect(placeTable('x <!-- bench -->old<!-- /bench --> y', 'new')).toBe(
      'x <!-- bench -->\n\nnew\n\n<!-- /bench --> y',
    );
    expect(() => placeTable('nothing here', 'new')).toThrow('has no');
  });
});

it('names every row once', () => {
  expect(new Set(rows.map((row) => row.id)).size).toBe(rows.length);
});

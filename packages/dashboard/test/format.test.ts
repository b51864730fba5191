import { describe, expect, it } from 'vitest';
import { listeningPorts } from '../src/format/listening-ports.js';
import { parseMetadata } from '../src/format/metadata-filter.js';
import { formatBytes, formatCount, formatPercent } from '../src/format/numbers.js';
import { cleanPath, crumbsOf, joinPath, parentOf } from '../src/format/paths.js';
import { linePath, nearest, ratesOf, upperEdge } from '../src/format/plot.js';
import { parseMetrics, sumOf } from '../src/format/prometheus.js';
import { formatAgo, formatDuration, formatTime } from '../src/format/times.js';
import { visibleText } from '../src/format/visible-text.js';

describe('text of strangers', () => {
  it.each([
    ['plain', 'plain'],
    ['<b>&amp;</b>', '<b>&amp;</b>'],
    ['a\u202Etxt.exe', 'a⟨U+202E⟩txt.exe'],
    ['zero\u200Bwidth\uFEFF', 'zero⟨U+200B⟩width⟨U+FEFF⟩'],
    ['\u001b[31mred\u001b[0m \u001b]0;title\u0007end', 'red end'],
    ['bell\u0007 back\u0008 nul\u0000', 'bell⟨07⟩ back⟨08⟩ nul⟨00⟩'],
    ['line\r\nnext\ttab', 'line⟨0D⟩\nnext\ttab'],
    ['日本語 עברית', '日本語 עברית'],
  ])('shows %j as %j', (text, shown) => expect(visibleText(text)).toBe(shown));

  it('cuts what is too long, and says so', () => {
    expect(visibleText('x'.repeat(1_000_000), 10)).toBe(`${'x'.repeat(10)}… (999,990 more characters)`);
    expect(visibleText('x'.repeat(10), 10)).toBe('x'.repeat(10));
  });
});

describe('numbers and times', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [2 ** 20 - 1, '1 MiB'],
    [512 * 2 ** 20, '512 MiB'],
    [3.25 * 2 ** 30, '3.3 GiB'],
    [-5, '0 B'],
    [Number.NaN, '–'],
  ])('shows %d bytes as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it('shows shares and counts', () => {
    expect([0, 0.04, 3.456, 45.6, 100, Number.NaN].map(formatPercent)).toEqual([
      ...['0 %', '0 %', '3.5 %', '46 %', '100 %', '–'],
    ]);
    expect([1, 1.5, 12_345.6].map(formatCount)).toEqual(['1', '1.5', '12,346']);
  });

  it.each([
    [120, '120 ms'],
    [45_000, '45 s'],
    [60_000, '1 min'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [-1, '0 ms'],
  ])('shows %d ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  it('shows how far a time is', () => {
    const now = Date.UTC(2026, 10, 25, 12);
    const shown = [-3 * 3_600_000, -999, 5 * 60_000, 2 * 86_400_000].map((ms) =>
      formatAgo(new Date(now + ms), now),
    );
    expect(shown).toEqual(['3 h ago', 'now', 'in 5 min', 'in 2 d']);
    expect(formatTime(new Date(2026, 0, 2, 3, 4, 5))).toBe('2026-01-02 03:04:05');
  });
});

describe('plots', () => {
  const range = { from: 0, to: 100, most: 10 };
  it('join samples, but not over a pause', () => {
    const points = [0, 10, 20, 90, 100].map((at) => ({ at, value: 5 }));
    expect(linePath(points, range, 100, 10)).toBe('M0 5L10 5L20 5M90 5L100 5');
    expect(linePath([], range, 100, 10)).toBe('');
  });
  it('stay inside for values beyond the edge, and for edges of 0', () => {
    expect(linePath([{ at: 50, value: 99 }], range, 100, 10)).toBe('M50 0');
    expect(linePath([{ at: 0, value: 0 }], { from: 0, to: 0, most: 0 }, 100, 10)).toBe('M0 10');
  });
  it('have a round upper edge', () => {
    const edges = [0, 1, 1.2, 37, 51, 1_000, Number.NaN].map((value) => upperEdge(value, 'other'));
    expect(edges).toEqual([1, 1, 2, 50, 100, 1_000, 1]);
    expect([0, 1_025, 5e6].map((value) => upperEdge(value, 'bytes'))).toEqual([1_024, 2_048, 8 * 2 ** 20]);
  });
  it('end at what is used, and at the limit where that is near', () => {
    expect(upperEdge(3, 'other', 100)).toBe(5);
    expect(upperEdge(50, 'other', 100)).toBe(100);
    expect(upperEdge(120, 'other', 100)).toBe(120);
    expect(upperEdge(700, 'bytes', 1_000)).toBe(1_000);
    expect(upperEdge(0, 'bytes', 0)).toBe(1_024);
  });
  it('find the nearest sample', () => {
    const points = [0, 10, 20].map((at) => ({ at, value: at }));
    expect([nearest(points, 14)?.at, nearest(points, 16)?.at, nearest([], 1)]).toEqual([10, 20, undefined]);
  });
  it('make rates of totals, also when the count began anew', () => {
    const totals = [
      { at: 0, value: 100 },
      { at: 2_000, value: 300 },
      { at: 3_000, value: 10 },
    ];
    expect(ratesOf(totals)).toEqual([
      { at: 2_000, value: 100 },
      { at: 3_000, value: 0 },
    ]);
    expect(ratesOf([])).toEqual([]);
  });
});

describe('texts of servers and sandboxes', () => {
  it('reads metrics, quoted labels and unreadable lines among them', () => {
    const samples = parseMetrics(
      '# HELP a A.\na{x="1",y="say \\"hi\\"\\n{}, "} 2\na{x="2"} 3.5\nb 1e3\nnonsense\n\nc{} NaN\n',
    );
    expect(samples[0]).toEqual({ name: 'a', labels: { x: '1', y: 'say "hi"\n{}, ' }, value: 2 });
    expect(sumOf(samples, 'a')).toBe(5.5);
    expect(sumOf(samples, 'a', { x: '2' })).toBe(3.5);
    expect([sumOf(samples, 'b'), sumOf(samples, 'none')]).toEqual([1_000, undefined]);
  });

  it('reads listening ports, once each', () => {
    const head = '  sl  local_address rem_address   st tx_queue';
    const tcp = `${head}\n 0: 0100007F:1F90 00000000:0000 0A 0\n 1: 0100007F:0050 0100007F:D431 01 0\n`;
    const tcp6 = `${head}\n 0: 00000000000000000000000000000000:1F90 0:0 0A\n 1: 0:0016 0:0 0A\ngarbage\n`;
    expect(listeningPorts([tcp, tcp6])).toEqual([22, 8080]);
    expect(listeningPorts(['', '<html>'])).toEqual([]);
  });

  it('reads filters of metadata', () => {
    expect(parseMetadata(' a=b  c=d=e  word =x ')).toEqual({ a: 'b', c: 'd=e' });
  });

  it('splits paths', () => {
    expect([joinPath('/', 'a'), joinPath('/a', 'b')]).toEqual(['/a', '/a/b']);
    expect(['/a/b', '/a', '/'].map(parentOf)).toEqual(['/a', '/', '/']);
    expect(['', ' /a//b/../c/. ', '../..'].map(cleanPath)).toEqual(['/', '/a/c', '/']);
    expect(crumbsOf('/a/b').map(({ path }) => path)).toEqual(['/', '/a', '/a/b']);
  });
});

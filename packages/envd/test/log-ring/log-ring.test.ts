import { describe, expect, it } from 'vitest';
import { createLogRing, type LogEntry, type LogRing } from '../../src/log-ring/log-ring.js';

const source = { pid: 7, stream: 'stdout', tag: undefined } as const;
const ringOf = () => createLogRing(() => 1_000);
const append = (ring: LogRing, text: string) => ring.append(source, Buffer.from(text));

/** Reads to the end as the server does. */
function readAll(ring: LogRing, after = 0): { entries: LogEntry[]; dropped: number } {
  const entries: LogEntry[] = [];
  let dropped = 0;
  for (;;) {
    const page = ring.read(entries.at(-1)?.seq ?? after, 1000);
    dropped += page.dropped;
    if (page.entries.length === 0) return { entries, dropped };
    entries.push(...page.entries);
  }
}

describe('the log of a daemon', () => {
  it('keeps a burst of 20,000 lines within a millisecond, each once and in order', () => {
    const ring = ringOf();
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`);
    const text = Buffer.from(`${lines.join('\n')}\n`);
    for (let at = 0; at < text.length; at += 65_536) ring.append(source, text.subarray(at, at + 65_536));
    const { entries, dropped } = readAll(ring);
    expect(dropped).toBe(0);
    expect(entries.map(({ message }) => message)).toEqual(lines);
    expect(entries.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1));
  });
  it('keeps 20,000 lines that come one by one', () => {
    const ring = ringOf();
    for (let index = 0; index < 20_000; index += 1) append(ring, `line ${index}\n`);
    expect(readAll(ring).entries).toHaveLength(20_000);
  });
  it('tells how many lines it dropped: none is missed in silence', () => {
    const ring = ringOf();
    const wide = `${'x'.repeat(99)}\n`;
    for (let index = 0; index < 30_000; index += 1) append(ring, wide);
    const { entries, dropped } = readAll(ring);
    expect(dropped + entries.length).toBe(30_000);
    expect(entries.length).toBeGreaterThan(10_000);
    expect(entries.at(-1)!.seq).toBe(30_000);
  });
  it('counts lines that were dropped between two pages', () => {
    const ring = ringOf();
    for (let index = 0; index < 5_000; index += 1) append(ring, `${'a'.repeat(99)}\n`);
    const first = ring.read(0, 1000);
    for (let index = 0; index < 20_000; index += 1) append(ring, `${'b'.repeat(99)}\n`);
    const rest = readAll(ring, first.entries.at(-1)!.seq);
    expect(first.entries.length + rest.dropped + rest.entries.length).toBe(25_000);
  });
  it('splits a long line into numbered pieces, between characters', () => {
    const ring = ringOf();
    const line = `a${'ü'.repeat(40_000)}`;
    const bytes = Buffer.from(`${line}\nnext\n`);
    for (let at = 0; at < bytes.length; at += 10_000) ring.append(source, bytes.subarray(at, at + 10_000));
    const { entries } = readAll(ring);
    const pieces = entries.slice(0, -1);
    expect(pieces.map(({ message }) => message).join('')).toBe(line);
    expect(pieces.map(({ fields }) => fields.part)).toEqual([1, 2, 3, 4, 5]);
    expect(entries.at(-1)).toMatchObject({ message: 'next', fields: { pid: 7, stream: 'stdout' } });
    expect(entries.at(-1)!.fields.part).toBeUndefined();
  });
  it('puts a line together whose character was cut between two reads, and ends one without a newline', () => {
    const ring = ringOf();
    const bytes = Buffer.from('grün');
    ring.append(source, bytes.subarray(0, 3));
    expect(readAll(ring).entries).toEqual([]);
    ring.append(source, bytes.subarray(3));
    ring.end(source);
    expect(readAll(ring).entries.map(({ message }) => message)).toEqual(['grün']);
  });
  it('does not mix the lines of two programs', () => {
    const ring = ringOf();
    const other = { ...source, pid: 8 };
    append(ring, 'one ');
    ring.append(other, Buffer.from('eins '));
    append(ring, 'two\n');
    ring.append(other, Buffer.from('zwei\n'));
    expect(readAll(ring).entries.map(({ message }) => message)).toEqual(['one two', 'eins zwei']);
  });
});

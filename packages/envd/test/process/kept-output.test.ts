import { describe, expect, it } from 'vitest';
import { KEPT_BYTES, KeptOutput, type OutputCursor } from '../../src/process/kept-output.js';
import { OutputBudget, TOTAL_KEPT_BYTES } from '../../src/process/output-budget.js';

const text = (value: string) => Buffer.from(value);

function readAll(cursor: OutputCursor): { text: string; pieces: number; bytes: number } {
  const parts: Buffer[] = [];
  for (let piece = cursor.read(); piece; piece = cursor.read()) parts.push(Buffer.from(piece.bytes));
  const all = Buffer.concat(parts);
  return { text: all.toString(), pieces: parts.length, bytes: all.length };
}

describe('KeptOutput', () => {
  it('gives a reader everything from any offset, in the order of the streams', () => {
    const output = new KeptOutput(new OutputBudget());
    const whole = Array.from({ length: 500 }, (_, index) => `${index},`).join('');
    for (const piece of whole.match(/.{1,7}/g) ?? []) output.append('stdout', text(piece));
    for (const from of [0, 1, 6, 7, 8, 1000, whole.length - 1, whole.length, whole.length + 50]) {
      const cursor = output.cursor(from);
      expect(cursor.offset).toBe(Math.min(from, whole.length));
      expect(readAll(cursor).text).toBe(whole.slice(from));
    }
    output.append('stderr', text('E'));
    output.append('stdout', text('o'));
    const cursor = output.cursor(whole.length - 1);
    expect([cursor.read(), cursor.read(), cursor.read()].map((piece) => piece?.output)).toEqual([
      'stdout',
      'stderr',
      'stdout',
    ]);
  });

  it('lets a reader that has caught up go on where it was, also after its block was dropped', () => {
    const output = new KeptOutput(new OutputBudget());
    output.append('stdout', text('a'));
    const cursor = output.cursor(0);
    expect(readAll(cursor).text).toBe('a');
    output.append('stdout', text('b'));
    expect(cursor.backlog).toBeGreaterThan(0);
    expect(readAll(cursor).text).toBe('b');
    expect(cursor.backlog).toBe(0);
    expect(output.dropOldest()).toBe(true);
    while (output.dropOldest());
    output.append('stdout', text('c'));
    expect(cursor.offset).toBe(2);
    expect(readAll(cursor).text).toBe('c');
  });

  it('keeps the latest within its bound, however small the pieces, and tells where it begins', () => {
    for (const size of [1, 100, 5000, 32 * 1024]) {
      const output = new KeptOutput(new OutputBudget());
      const piece = Buffer.alloc(size, 'x');
      const rounds = Math.ceil((2 * KEPT_BYTES) / (size + 192)) * 2;
      for (let round = 0; round < rounds; round++) output.append(round % 2 ? 'stdout' : 'stderr', piece);
      expect(output.cost).toBeLessThanOrEqual(KEPT_BYTES);
      expect(output.cost).toBeGreaterThan(KEPT_BYTES / 2);
      const cursor = output.cursor(0);
      expect(cursor.offset).toBeGreaterThan(0);
      expect(readAll(cursor).bytes).toBe(output.end - output.cursor(0).offset);
    }
  });

  it('uses the memory of small pieces of one stream for bytes', () => {
    const output = new KeptOutput(new OutputBudget());
    for (let at = 0; at < KEPT_BYTES / 2; at += 8) output.append('stdout', text('12345678'));
    expect(output.cursor(0).offset).toBe(0);
  });

  it('drops nothing that a connected reader still has to get', () => {
    const output = new KeptOutput(new OutputBudget());
    const slow = output.cursor(0);
    for (let round = 0; round < 100; round++) output.append('stdout', Buffer.alloc(32 * 1024));
    expect(readAll(slow).bytes).toBe(100 * 32 * 1024);
    slow.close();
    output.append('stdout', text('x'));
    expect(output.cost).toBeLessThanOrEqual(KEPT_BYTES);
  });
});

describe('OutputBudget', () => {
  it('takes from whoever holds most, and spares the others', () => {
    const budget = new OutputBudget();
    const small = new KeptOutput(budget);
    small.append('stdout', text('precious'));
    for (let process = 0; process < 20; process++) {
      const output = new KeptOutput(budget);
      for (let round = 0; round < 40; round++) output.append('stdout', Buffer.alloc(32 * 1024));
      expect(budget.bytes).toBeLessThanOrEqual(TOTAL_KEPT_BYTES);
    }
    expect(readAll(small.cursor(0)).text).toBe('precious');
    expect(budget.bytes).toBeGreaterThan(TOTAL_KEPT_BYTES / 2);
  });

  it('stays usable when every byte is waited for by a reader', () => {
    const budget = new OutputBudget();
    const outputs = Array.from({ length: 200 }, () => new KeptOutput(budget));
    const readers = outputs.map((output) => output.cursor(0));
    for (const output of outputs) output.append('stdout', Buffer.alloc(32 * 1024));
    for (const reader of readers) expect(readAll(reader).bytes).toBe(32 * 1024);
    outputs[0]?.append('stdout', text('x'));
    expect(budget.bytes).toBeLessThanOrEqual(TOTAL_KEPT_BYTES);
  });

  it('gives back what a forgotten process held', () => {
    const budget = new OutputBudget();
    const output = new KeptOutput(budget);
    output.append('stdout', Buffer.alloc(10_000));
    budget.forget(output);
    budget.forget(output);
    expect(budget.bytes).toBe(0);
  });
});

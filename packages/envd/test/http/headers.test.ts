import { describe, expect, it } from 'vitest';
import { Headers as LightHeaders } from '../../src/http/headers.js';

const SOURCES: (Record<string, string> | [string, string][] | undefined)[] = [
  undefined,
  {},
  { 'Content-Type': 'application/json', 'X-A': ' padded\t' },
  [
    ['X-A', '1'],
    ['x-a', '2'],
    ['B', ''],
  ],
];

/** The same steps on ours and on the runtime's. */
function both<T>(source: (typeof SOURCES)[number], steps: (headers: Headers) => T): [T, T] {
  return [steps(new LightHeaders(source) as unknown as Headers), steps(new Headers(source))];
}

const sorted = (headers: Iterable<[string, string]>) => [...headers].sort(([a], [b]) => (a < b ? -1 : 1));

describe('our headers behave like the web', () => {
  it.each(SOURCES)('when made from %j', (source) => {
    const [ours, theirs] = both(source, (headers) => sorted(headers));
    expect(ours).toEqual(theirs);
  });

  it('when changed and read', () => {
    const [ours, theirs] = both({ a: '1', b: '2' }, (headers) => {
      headers.append('A', '3');
      headers.set('C', 'x');
      headers.set('c', 'y');
      headers.delete('B');
      const seen: [string, string][] = [];
      headers.forEach((value, name) => void seen.push([name, value]));
      return [headers.get('a'), headers.get('b'), headers.has('C'), headers.has('b'), sorted(seen)];
    });
    expect(ours).toEqual(theirs);
  });

  it('when copied', () => {
    const copy = new LightHeaders(new LightHeaders({ 'X-A': '1' }));
    expect([...copy]).toEqual([['x-a', '1']]);
  });

  it.each([
    ['a space', 'a b', 'x'],
    ['nothing', '', 'x'],
    ['a line break in its value', 'a', 'x\r\nb: y'],
  ])('when a name has %s', (_, name, value) => {
    const [ours, theirs] = both({}, (headers) => {
      try {
        headers.set(name, value);
        return 'taken';
      } catch (error) {
        return (error as Error).name;
      }
    });
    expect(ours).toBe(theirs);
  });
});

import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/errors/cli-error.js';
import { parseDuration } from '../../src/parse/duration.js';
import { wholeNumber } from '../../src/parse/number.js';
import { collectList, collectPairs } from '../../src/parse/pairs.js';
import { parseCopy } from '../../src/parse/remote-path.js';
import { afterDashes, toCommandLine } from '../../src/parse/shell-words.js';
import { parseTime } from '../../src/parse/time.js';

describe('what is typed', () => {
  it.each([
    ['90', 90_000],
    ['90s', 90_000],
    ['1.5m', 90_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['2d', 172_800_000],
    ['0', 0],
  ])('reads the span %s as %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', 'soon', '5x', '-5s', '5 m', '1h30'])('refuses the span "%s"', (text) =>
    expect(() => parseDuration(text)).toThrow(UsageError),
  );

  it('reads times absolutely and backwards from now', () => {
    expect(parseTime('10m', 1_000_000)).toEqual(new Date(400_000));
    expect(parseTime('2026-01-31T12:00:00Z')).toEqual(new Date(Date.UTC(2026, 0, 31, 12)));
    expect(() => parseTime('yesterday')).toThrow(UsageError);
  });

  it('keeps numbers within their bounds', () => {
    const read = wholeNumber('--count', 1, 100);
    expect(read('100')).toBe(100);
    for (const text of ['0', '101', '1.5', '1e1', '', 'x']) expect(() => read(text)).toThrow('from 1 to 100');
  });

  it('collects pairs whose values hold equal signs, and lists by commas', () => {
    expect(collectPairs('b=x=y', collectPairs('a='))).toEqual({ a: '', b: 'x=y' });
    expect(() => collectPairs('novalue')).toThrow('NAME=value');
    expect(() => collectPairs('=x')).toThrow(UsageError);
    expect(collectList('b, c', ['a'])).toEqual(['a', 'b', 'c']);
  });

  it.each(['', ' ', 'a,', ',a'])(
    'does not read the list "%s", of a variable that is not set, as none',
    (text) => expect(() => collectList(text)).toThrow(UsageError),
  );

  it.each([
    [['./a', 'id1:b'], { direction: 'upload', local: './a', sandboxId: 'id1', remote: 'b' }],
    [['id1:b/c:d', '-'], { direction: 'download', local: '-', sandboxId: 'id1', remote: 'b/c:d' }],
    [['./with:colon', 'id1:'], { direction: 'upload', local: './with:colon', sandboxId: 'id1', remote: '.' }],
    [['x', 'id1:a\nb'], { direction: 'upload', local: 'x', sandboxId: 'id1', remote: 'a\nb' }],
    [['/abs:x', 'id1:/y'], { direction: 'upload', local: '/abs:x', sandboxId: 'id1', remote: '/y' }],
  ] as const)('reads the copy %j', ([from, to], copy) => expect(parseCopy(from, to)).toEqual(copy));

  it.each([
    ['a', 'b'],
    ['id:a', 'id:b'],
    ['', 'id:b'],
  ])('refuses the copy of "%s" to "%s"', (from, to) => expect(() => parseCopy(from, to)).toThrow(UsageError));

  it('quotes several words so that a shell takes them as they are', () => {
    expect(toCommandLine(['ls | wc'])).toBe('ls | wc');
    expect(toCommandLine(['ls', 'a b'])).toBe("ls 'a b'");
    expect(afterDashes(['--', 'x', '--'])).toEqual(['x', '--']);
    expect(() => afterDashes(['-w', 'x'])).toThrow(UsageError);
  });
});

import { describe, expect, it } from 'vitest';
import { JsonBoundsError, JsonScanner, parseBoundedJson } from '../../src/api/wire/bounded-json.js';

const bounds = { maxDepth: 3, maxValues: 6 };
const parse = (text: string) => parseBoundedJson(Buffer.from(text), bounds);

describe('JSON within bounds', () => {
  it.each([
    '{"a":[1,{"b":2}]}',
    '[[[]],[[]],[[]]]',
    '"[[[[[[[[{{{{{{{{,,,,,,,,,,::::::::"',
    '{"a\\"[[[[[":"\\\\","b":"\\\\\\"{{{{{"}',
    '[1,2,3,4,5,6,7]',
    'null',
  ])('%s is parsed', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each([
    '[[[[]]]]',
    '{"a":{"a":{"a":{}}}}',
    '[{"a":[{',
    '[1,2,3,4,5,6,7,8]',
    '{"a":1,"b":2,"c":3,"d":4}',
    '["\\\\",[[[',
  ])('%s is refused before it is parsed', (text) => {
    expect(() => parse(text)).toThrow(JsonBoundsError);
  });

  it('what is no JSON is left to the parser', () => {
    for (const text of ['', ']]]]]', '"never ends', '"ends in an escape\\', '{"a"'])
      expect(() => parse(text)).toThrow(SyntaxError);
  });

  it('it makes no difference where the bytes are cut', () => {
    const texts = ['{"a\\"[[[[":["\\\\","\\\\\\""]}', '["[[[[\\u005b\\\\"]', '[[["\\"]]]]]]\\\\", [1]]]]'];
    for (const text of texts) {
      const whole = outcome([Buffer.from(text)]);
      for (let at = 0; at <= text.length; at += 1)
        for (let to = at; to <= text.length; to += 1)
          expect(
            outcome([text.slice(0, at), text.slice(at, to), text.slice(to)].map((part) => Buffer.from(part))),
          ).toBe(whole);
    }
  });

  it('random texts are counted as a parser counts them', () => {
    const random = (most: number) => Math.floor(Math.random() * most);
    const make = (depth: number): unknown => {
      const kind = depth === 0 ? 0 : random(3);
      if (kind === 0) return ['\\', '"', '[{', '\\"}', 1, null][random(6)];
      const parts = Array.from({ length: random(4) }, () => make(depth - 1));
      return kind === 1
        ? parts
        : Object.fromEntries(parts.map((part, at) => [`${'\\"]'.slice(0, random(4))}${at}`, part]));
    };
    for (let round = 0; round < 2_000; round += 1) {
      const value = make(5);
      const text = Buffer.from(JSON.stringify(value));
      const depth = depthOf(value);
      expect(() => parseBoundedJson(text, { maxDepth: depth, maxValues: 10_000 })).not.toThrow();
      if (depth > 0)
        expect(() => parseBoundedJson(text, { maxDepth: depth - 1, maxValues: 10_000 })).toThrow();
    }
  });
});

function outcome(parts: Buffer[]): string {
  const scanner = new JsonScanner(bounds);
  try {
    for (const part of parts) scanner.push(part);
    return 'fine';
  } catch (error) {
    return (error as Error).message;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

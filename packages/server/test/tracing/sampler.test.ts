import { describe, expect, it } from 'vitest';
import { parseTraceparent } from '../../src/operator/tracing/finished-span.js';
import { decideStart } from '../../src/operator/tracing/sampler.js';

const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const caller = parseTraceparent(header)!;

describe('a traceparent', () => {
  it('is read', () => {
    expect(caller).toEqual({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      sampled: true,
    });
    expect(parseTraceparent(header.replace(/01$/, '00'))?.sampled).toBe(false);
  });

  it.each([
    undefined,
    ['a', 'b'],
    '',
    'x'.repeat(100_000),
    header.toUpperCase(),
    `${header},${header}`,
    `01${header.slice(2)}`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`,
  ])('is nothing when it is garbage: %#', (garbage) => {
    expect(parseTraceparent(garbage)).toBeUndefined();
  });
});

describe('by default', () => {
  const sampling = { sampler: 'traceidratio', ratio: 0.1 } as const;

  it('a caller cannot have itself recorded, and gets no span into a trace of its choice', () => {
    expect(decideStart(sampling, caller, 0.5)).toEqual({ sampled: false, link: caller });
    expect(decideStart(sampling, caller, 0.05)).toEqual({ sampled: true, link: caller });
    // Nor can it by the choice of its trace id.
    const low = { ...caller, traceId: `${'0'.repeat(31)}1` };
    expect(decideStart(sampling, low, 0.5).sampled).toBe(false);
  });

  it('a caller cannot keep itself from being recorded either', () => {
    expect(decideStart({ ...sampling, ratio: 1 }, { ...caller, sampled: false }, 0.99).sampled).toBe(true);
  });
});

it.each([
  ['parentbased_always_off', 1, { sampled: true, parent: caller }],
  ['parentbased_traceidratio', 0, { sampled: true, parent: caller }],
  ['always_off', 1, { sampled: false, link: caller }],
  ['always_on', 0, { sampled: true, link: caller }],
] as const)('%s with ratio %d decides', (sampler, ratio, expected) => {
  expect(decideStart({ sampler, ratio }, caller, 0.5)).toEqual(expected);
});

it('parentbased_always_off records nothing that no caller asked for', () => {
  expect(decideStart({ sampler: 'parentbased_always_off', ratio: 1 }, undefined, 0)).toEqual({
    sampled: false,
  });
});

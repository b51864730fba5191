import { describe, expect, it } from 'vitest';
import { consequenceOf, formatLimit, limitFields, parseLimit } from '../src/format/limits.js';

describe('a limit', () => {
  it.each([
    ['count', '20', 20],
    ['count', ' 0 ', 0],
    ['count', '2147483647', 2_147_483_647],
    ['size', '512 MiB', 512],
    ['size', '8GiB', 8_192],
    ['size', '1.5 gib', 1_536],
    ['size', '2 TiB', 2_097_152],
    ['size', '0', 0],
    ['time', '90 s', 90_000],
    ['time', '2h', 7_200_000],
    ['time', '1.5 MIN', 90_000],
    ['time', '7 d', 604_800_000],
    ['count', '', null],
    ['size', '  ', null],
  ] as const)('of the kind %s is read from %j', (kind, text, value) =>
    expect(parseLimit({ kind }, text)).toEqual({ value }),
  );

  it.each([
    ['count', 'many', 'Write a whole number, such as 20.'],
    ['count', '-1', 'Write a whole number, such as 20.'],
    ['count', '1.5', 'Write a whole number, such as 20.'],
    ['count', '1e3', 'Write a whole number, such as 20.'],
    ['count', '2147483648', 'The most is 2147483647.'],
    ['size', '512', 'Write a number with its unit, such as 512 MiB or 8 GiB.'],
    ['size', '8 GB', 'Write a number with its unit, such as 512 MiB or 8 GiB.'],
    ['size', '0.3 MiB', 'Write a number with its unit, such as 512 MiB or 8 GiB.'],
    ['size', '5000 TiB', 'The most is 2147483647 MiB.'],
    ['time', '60', 'Write a number with its unit, such as 90 s, 30 min, 2 h or 7 d.'],
    ['time', '0.5 s', 'Write a number with its unit, such as 90 s, 30 min, 2 h or 7 d.'],
    ['time', '99999999999 d', 'The most is 2147483647 s.'],
  ] as const)('of the kind %s is refused as %j, with what to write', (kind, text, problem) =>
    expect(parseLimit({ kind }, text)).toEqual({ problem }),
  );

  it('is not below the least that makes sense', () => {
    expect(parseLimit({ kind: 'time', least: 1_000 }, '0')).toEqual({ problem: 'The least is 1 s.' });
    expect(parseLimit({ kind: 'size', least: 1 }, '0 GiB')).toEqual({ problem: 'The least is 1 MiB.' });
  });

  it('is read back as it was written', () => {
    for (const { kind } of limitFields)
      for (const value of [0, 1, 90, 1_024, 8_192, 1_536, 86_400, 2 ** 31 - 1].map((each) =>
        kind === 'time' ? each * 1_000 : each,
      ))
        expect(parseLimit({ kind }, formatLimit(kind, value))).toEqual({ value });
  });
});

it('says what a limit does that is not above what is in use', () => {
  const used = { sandboxes: 3, memoryMiB: 0, storageMiB: 10, egressMonthMiB: 5, secrets: 2, webhooks: 0 };
  const told = (name: string, value: number | null) =>
    consequenceOf(limitFields.find((field) => field.name === name)!, value, used);
  expect(told('maxConcurrentSandboxes', 3)).toContain('nothing more starts');
  expect(told('maxConcurrentSandboxes', 4)).toBeUndefined();
  expect(told('maxConcurrentSandboxes', null)).toBeUndefined();
  expect(told('maxEgressMonthMiB', 0)).toContain('lose their way out');
  expect(told('maxSecrets', 1)).toContain('nothing is added');
  // Sandboxes that are not there yet are refused later, which needs no message.
  expect(told('maxTotalMemoryMiB', 0)).toBeUndefined();
  expect(told('maxCpuCount', 1)).toBeUndefined();
  expect(consequenceOf(limitFields[0]!, 1, undefined)).toBeUndefined();
});

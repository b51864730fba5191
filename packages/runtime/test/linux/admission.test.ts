import { describe, expect, it } from 'vitest';
import {
  Admission,
  budgetOf,
  readHostMemory,
  refusal,
  requireRoom,
} from '../../src/linux-driver/cgroups/admission.js';
import { desiredReserve, isSmallChange } from '../../src/linux-driver/store/reserve-file.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

describe('what all sandboxes together may use', () => {
  it.each([
    ['a large host', 64, undefined, 62],
    ['a small one', 1, undefined, 0.75],
    ['what the operator says', 64, 8192, 8],
    ['no more than the host has, regardless of the operator', 16, 1_000_000, 14.4],
  ])('is bounded on %s', (_, totalGiB, maxMemoryMiB, expectedGiB) => {
    const budget = budgetOf({ totalMemoryBytes: totalGiB * GIB, pidMax: 1000 }, maxMemoryMiB);
    expect(budget.memoryBytes / GIB).toBeCloseTo(expectedGiB, 5);
    expect(budget.pids).toBe(750);
  });
});

describe('a sandbox more', () => {
  const budget = budgetOf({ totalMemoryBytes: 16 * GIB, pidMax: 32_768 }, undefined);
  const now = (availableGiB: number, usedGiB = 0, usedPids = 0) => ({
    memory: { totalBytes: 16 * GIB, availableBytes: availableGiB * GIB },
    usedMemoryBytes: usedGiB * GIB,
    usedPids,
    budget,
  });
  it.each([
    ['is admitted on an idle host', { memoryMiB: 1024, pids: 2048 }, now(15), undefined],
    ['is admitted though limits add up to more than the host has', { memoryMiB: 8192 }, now(6, 2), undefined],
    ['is refused when memory is used up', { memoryMiB: 1024 }, now(1), /memory of the host is used up/],
    [
      'is refused when sandboxes use their share',
      { memoryMiB: 1024 },
      now(8, 14),
      /for sandboxes is used up/,
    ],
    ['is refused when processes are used up', { pids: 2048 }, now(15, 0, 23_000), /process numbers/],
  ])('%s', (_, request, host, expected) => {
    const reason = refusal(request, host);
    if (expected === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(expected);
  });

  it('is refused with the code for no capacity', () => {
    expect(() => requireRoom({ memoryMiB: 1024 }, now(0))).toThrow(
      expect.objectContaining({ code: 'no_capacity' }),
    );
  });

  it('is judged by what the kernel says', () => {
    const text = 'MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n';
    expect(readHostMemory(text)).toEqual({ totalBytes: 1_024_000, availableBytes: 409_600 });
  });
});

describe('the reserve file of a store', () => {
  const space = (storeFree: number, hostFree: number, reserved = 0) => ({
    storeFree: storeFree * MIB,
    hostFree: hostFree * MIB,
    reserve: 1000 * MIB,
    reserved: reserved * MIB,
  });
  it.each([
    ['is not there while the host has room', space(5_000, 10_000), 0],
    ['takes from the store what the host could not hold', space(5_000, 4_000), 2_000],
    ['grows when others fill the host', space(3_000, 3_000, 2_000), 3_000],
    ['takes everything when the host has only its reserve', space(5_000, 500), 5_000],
    ['goes when there is room again', space(3_000, 10_000, 2_000), 0],
  ])('%s', (_, given, expectedMiB) => {
    expect(desiredReserve(given) / MIB).toBe(expectedMiB);
  });

  it.each([
    [2_000, 2_030, true],
    [2_000, 2_100, false],
    [20, 0, false],
    [0, 0, true],
  ])('of %i MiB that should have %i stays: %s', (reserved, desired, stays) => {
    expect(isSmallChange(reserved * MIB, desired * MIB)).toBe(stays);
  });
});

describe('sandboxes in a burst', () => {
  const GB = 2 ** 30;
  const free = { totalBytes: 16 * GB, availableBytes: 15 * GB };
  const use = (memory = free) => ({
    memory,
    usedMemoryBytes: 0,
    usedPids: 0,
    budget: budgetOf({ totalMemoryBytes: 16 * GB, pidMax: 32_768 }, undefined),
  });

  it('are let in by one look a tenth of a second', () => {
    let [looks, now] = [0, 0];
    const admission = new Admission(
      () => {
        looks += 1;
        return use();
      },
      () => now,
    );
    for (const [at, expected] of [
      [0, 1],
      [50, 1],
      [99, 1],
      [100, 2],
      [150, 2],
      [250, 3],
    ] as const) {
      now = at;
      admission.require({ memoryMiB: 1024 });
      expect(looks, `after ${at} ms`).toBe(expected);
    }
  });

  it('are never refused by an old look, nor let in by one that refused', () => {
    let memory = { ...free, availableBytes: 0 };
    const admission = new Admission(
      () => use(memory),
      () => 0,
    );
    expect(() => admission.require({ memoryMiB: 1024 })).toThrow('used up');
    memory = free;
    admission.require({ memoryMiB: 1024 });
  });
});

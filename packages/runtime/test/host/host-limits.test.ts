import { describe, expect, it } from 'vitest';
import { limitsQueues, MESSAGE_QUEUES, sharedLimits } from '../../src/host/host-limits.js';

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             96365                96365                processes
Max pending signals       96365                96365                signals
Max msgqueue size         819200               819200               bytes
`;
const status = (effective: string) => `Name:\tnode\nCapEff:\t${effective}\n`;
const ALL = status('000001ffffffffff');
const WITHOUT_RESOURCES = status('000001fffeffffff');

describe('what the kernel counts for all sandboxes together', () => {
  it('is enough for the queues and processes of all, where the service may raise limits', () => {
    expect(sharedLimits(LIMITS, ALL, true)).toEqual([
      { name: 'sigpending', together: '48182:', each: 512 },
      { name: 'msgqueue', together: '419430400:419430400', each: MESSAGE_QUEUES * 102_400 },
      { name: 'nproc', together: 'unlimited:unlimited', each: undefined },
    ]);
  });

  it.each([
    ['may not raise limits', WITHOUT_RESOURCES, true],
    ['cannot hold a sandbox to a number of queues', ALL, false],
  ])('is what the service has where it %s, and one user gets one queue', (_, from, fewQueues) => {
    expect(sharedLimits(LIMITS, from, fewQueues).find(({ name }) => name === 'msgqueue')).toEqual({
      name: 'msgqueue',
      together: '819200:',
      each: 102_400,
    });
  });

  it('is left alone where there is no limit', () => {
    const unlimited = LIMITS.replaceAll(/\d{5,}/g, 'unlimited');
    expect(sharedLimits(unlimited, ALL, true)).toEqual([]);
  });

  it.each([
    ['6.18.44-fc', true],
    ['6.9.0', true],
    ['6.8.12-generic', false],
    ['5.19.0', false],
    ['7.0-rc1', true],
  ])('of queues is bounded for each sandbox by Linux %s: %s', (kernel, expected) => {
    expect(limitsQueues(kernel)).toBe(expected);
  });
});

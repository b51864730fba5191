import { describe, expect, it } from 'vitest';
import { type Attempting, shareSlots } from '../../src/webhooks/delivery/worker.js';

const hook = (webhookId: string, teamId = `team of ${webhookId}`): Attempting => ({ webhookId, teamId });
const times = (count: number, one: Attempting) => Array.from({ length: count }, () => one);
const turns = (...given: Parameters<typeof shareSlots>) => Object.fromEntries(shareSlots(...given));

describe('turns of webhooks', () => {
  it('are a third of all slots for a webhook that is alone', () => {
    expect(turns([hook('a')], [], 48)).toEqual({ a: 16 });
    expect(turns([hook('a')], times(16, hook('a')), 48)).toEqual({});
    expect(turns([hook('a')], times(15, hook('a')), 48)).toEqual({ a: 1 });
  });

  it('are half of all slots at most for a team', () => {
    const due = Array.from({ length: 10 }, (_, n) => hook(`w${n}`, 'one'));
    const given = turns(due, [], 48);
    expect(Object.values(given).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(24);
    expect(Math.max(...Object.values(given)) - Math.min(...Object.values(given))).toBeLessThanOrEqual(1);
  });

  it('go to the team that has fewest, then to the webhook that has fewest', () => {
    expect(turns([hook('a'), hook('b')], [], 48)).toEqual({ a: 12, b: 12 });
    expect(turns([hook('a', 'x'), hook('b', 'x'), hook('c', 'y')], [], 12)).toEqual({ a: 2, b: 2, c: 3 });
    expect(turns([hook('b')], times(16, hook('a')), 48)).toEqual({ b: 11 });
  });

  it('leave one for the next team while others do not answer', () => {
    const underWay: Attempting[] = [];
    for (let team = 0; team < 5; team++)
      for (const [webhookId, count] of shareSlots([hook(`w${team}`)], underWay, 48))
        underWay.push(...times(count, hook(webhookId)));
    expect(turns([hook('next')], underWay, 48).next).toBeGreaterThan(0);
  });

  it('are none without slots, and none for nobody', () => {
    expect(turns([hook('a')], times(48, hook('b')), 48)).toEqual({});
    expect(turns([], [], 48)).toEqual({});
  });
});

import { expect, it } from 'vitest';
import { destinations, misfitOf, whyNowhere } from '../../src/cluster/fleet/destinations.js';
import type { Place } from '../../src/cluster/nodes/order-places.js';
import type { NodeReport } from '../../src/storage/json-shapes.js';

const machine = { arch: 'x64', kernel: '6.1.0', cpuFeatures: ['avx2', 'sse2'] };
const report = (given: Partial<NodeReport> = {}): NodeReport => ({
  ...{ version: '0', driver: 'linux', running: 0, maxSandboxes: 10, pooled: 0, cpuCount: 2, load: 0 },
  ...{ memoryFreeMiB: 4_000, memoryTotalMiB: 8_000, diskFreeMiB: 10_000, machine },
  ...given,
});
const place = (nodeId: string, given: Partial<NodeReport> = {}, drained = false): Place => ({
  nodeId,
  here: false,
  drained,
  report: report(given),
  sent: 0,
});
const runs = { memory: true, memoryMiB: 512, runs: true };

it('a place does not fit while it is drained, cannot take anything over, misses what memory needs, or is full', () => {
  const { machine: _, ...mute } = report();
  const cases: [Place, typeof runs, RegExp | undefined][] = [
    [place('a'), runs, undefined],
    [place('a', {}, true), runs, /being drained/],
    [{ ...place('a'), report: mute }, runs, /SVC_TRANSFER_KEY/],
    [{ ...place('a'), report: undefined }, runs, /SVC_TRANSFER_KEY/],
    [place('a', { machine: { ...machine, cpuFeatures: ['sse2'] } }), runs, /does not have avx2/],
    [place('a', { machine: { ...machine, cpuFeatures: ['sse2'] } }), { ...runs, memory: false }, undefined],
    [place('a', { machine: { ...machine, kernel: '5.15.0' } }), runs, /is older/],
    [place('a', { running: 10 }), runs, /no room/],
    [place('a', { running: 10 }), { ...runs, runs: false }, undefined],
  ];
  for (const [at, cargo, expected] of cases) {
    const misfit = misfitOf(machine, at, cargo);
    if (expected === undefined) expect(misfit).toBeUndefined();
    else expect(misfit).toMatch(expected);
  }
  expect(misfitOf(undefined, place('a'), runs)).toMatch(/nothing is known/);
});

it('those that fit come the emptiest first, the home never, and the others have a reason', async () => {
  const places = [
    place('home'),
    place('crowded', { running: 5 }),
    place('empty'),
    place('full', { running: 10 }),
  ];
  const fleet = {
    places: async () =>
      places.map((at) => ({
        place: at,
        record: { id: at.nodeId, apiUrl: '', sandboxUrl: '', acknowledges: true },
      })),
  };
  const found = await destinations({ fleet } as never, { ...runs, nodeId: 'home' });
  expect(found.nodes.map(({ id }) => id)).toEqual(['empty', 'crowded']);
  expect(found.why).toEqual(['server full: it has no room']);
  expect(whyNowhere(found)).toBe('no other server can take it (server full: it has no room)');
  expect(whyNowhere({ why: [] })).toBe('no other server lives');
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type InstanceEntry, Records } from '../../src/linux-driver/state/records.js';

const spec = { layers: [], limits: {}, network: { egress: 'none' as const }, mounts: [], labels: {} };
const entry: InstanceEntry = {
  ...{ name: 'one', state: 'making', spec, lease: 1, createdAtMs: 1, agent: 'agent', layers: [] },
};

it('gives the last text of a record, however long each one was', () => {
  const directory = mkdtempSync(join(tmpdir(), 'records-'));
  const records = new Records(directory);
  const manyLayers = Array.from({ length: 500 }, (_, index) => `layer-${index}`);
  for (const layers of [[], ['a'], manyLayers, [...manyLayers, 'ä'], ['b'], []]) {
    records.write({ ...entry, layers });
    expect(new Records(directory).all()).toEqual([{ ...entry, layers }]);
  }
  records.remove('one');
  expect(records.all()).toEqual([]);
  rmSync(directory, { recursive: true });
});

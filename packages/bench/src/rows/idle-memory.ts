import { readdirSync, readFileSync } from 'node:fs';
import { below, type Row, runs } from '../row.js';
import { SPEC, withDriver } from '../support/driver-floor.js';
import { proportionalMiB } from '../support/memory.js';

/** Daemons of sandboxes that run now. */
function daemons(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('envd.cjs');
      } catch {
        return false;
      }
    });
}

export const idleMemory: Row = {
  id: 'idle-memory',
  about: 'memory of an idle sandbox: proportional share of its daemon',
  async run(context) {
    const count = runs(context, 20, 2);
    return withDriver(context, async (driver) => {
      const before = new Set(daemons());
      for (let index = 0; index < count; index++) await driver.create({ id: `idle${index}`, spec: SPEC });
      const ours = daemons().filter((pid) => !before.has(pid));
      const value = ours.reduce((sum, pid) => sum + proportionalMiB(pid), 0) / count;
      return [
        {
          id: 'idle-memory',
          what: 'idle sandbox, proportional memory (PSS)',
          value,
          unit: 'MiB' as const,
          beside: [],
          target: below(value, 14, '<= 14 MiB'),
          how: `mean over ${count} sandboxes, ${context.driver} driver`,
        },
      ];
    });
  },
};

import { expect, it } from 'vitest';
import { type Sample, storeSamples } from '../../src/sandboxes/telemetry/store-samples.js';
import { createTestStorage, dialects } from '../support/storage.js';

it.each(dialects)(
  'on %s samples are stored to the last digit, and those that are there stay',
  async (dialect) => {
    const storage = await createTestStorage(dialect);
    const { db } = await storage.open();
    try {
      const samples: Sample[] = Array.from({ length: 1_201 }, (_, index) => ({
        sandbox_id: `s${index}`,
        team_id: `a "team"'s \u{1f600}`,
        at: Date.UTC(2100, 0) + index,
        cpu_count: 2,
        cpu_used_pct: index / 100,
        mem_used: 2 ** 53 - 1 - index,
        mem_total: 2 ** 40,
        mem_cache: 0,
        disk_used: index,
        disk_total: 2 ** 45,
      }));
      await storeSamples({ db, dialect }, samples);
      await storeSamples({ db, dialect }, [{ ...samples[7]!, mem_used: 1 }]);
      await storeSamples({ db, dialect }, []);
      const rows = await db.selectFrom('sandbox_metrics').selectAll().orderBy('at').execute();
      expect(rows).toEqual(samples.map((sample) => ({ ...sample, span_ms: 0 })));
    } finally {
      await db.destroy();
      await storage.remove();
    }
  },
);

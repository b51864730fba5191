import { Client } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { startStubServer } from '../support/stub-server.js';
import { timed } from '../support/time.js';

export const unaryOverhead: Row = {
  id: 'unary',
  about: 'what the SDK adds to one warm call',
  async run(context) {
    await using stub = await startStubServer();
    const client = new Client({ apiKey: 'svc_stub', apiUrl: stub.url, sandboxUrl: stub.url });
    const raw = async () => {
      const response = await fetch(`${stub.url}/v2/sandboxes?limit=1`, {
        headers: { 'X-API-Key': 'svc_stub' },
      });
      await response.json();
    };
    const ours = async () => void (await client.sandboxes.list({ limit: 1 }));
    const count = runs(context, 2_000, 20);
    const series = { raw: [] as number[], ours: [] as number[] };
    for (let round = -Math.ceil(count / 4); round < count; round++) {
      const a = await timed(raw);
      const b = await timed(ours);
      if (round < 0) continue;
      series.raw.push(a.ms);
      series.ours.push(b.ms);
    }
    const rawMs = summarize(series.raw).p50;
    const oursMs = summarize(series.ours).p50;
    return [
      {
        id: 'unary',
        what: 'warm call: what the SDK adds',
        value: oursMs - rawMs,
        unit: 'ms',
        beside: [
          { name: 'raw fetch itself', value: rawMs, unit: 'ms' },
          { name: 'SDK itself', value: oursMs, unit: 'ms' },
        ],
        target: below(oursMs - rawMs, 0.3, '<= 0.3 ms'),
        how: `p50 of ${count} calls each, in turn`,
      },
    ];
  },
};

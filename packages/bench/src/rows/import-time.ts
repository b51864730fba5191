import { fileURLToPath } from 'node:url';
import { below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { runNode } from '../support/node-process.js';
import { interleave } from '../support/time.js';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Measures the import alone, timed inside the process, so that Node's own start is not in it. */
const importing = (name: string) => async () => {
  const { stdout } = await runNode(
    `const start = performance.now(); await import(${JSON.stringify(name)}); console.log(performance.now() - start)`,
    { cwd: here },
  );
  return Number(stdout);
};

export const importTime: Row = {
  id: 'import',
  about: 'import of the SDK over bare Node',
  async run(context) {
    const count = runs(context, 15, 2);
    const series = await interleave(count, { ours: importing('@svc/sdk'), e2b: importing('e2b') });
    const ours = summarize(series.ours).p50;
    return [
      {
        id: 'import',
        what: 'import of the SDK',
        value: ours,
        unit: 'ms',
        beside: [{ name: 'e2b', value: summarize(series.e2b).p50, unit: 'ms' }],
        target: below(ours, 14, '<= 14 ms'),
        how: `p50 of ${count} processes`,
      },
    ];
  },
};

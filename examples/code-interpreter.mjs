// An agent that tries four ways to continue from one notebook: the table is loaded once, every fork has it in memory, and the
// best continuation continues. Needs the template: svc template build --builtin code-interpreter
import { Sandbox } from '@svc/sdk';

const LOAD = `
import numpy as np, pandas as pd
rng = np.random.default_rng(7)
days = np.arange(120)
sales = pd.DataFrame({"day": days, "sold": 50 + 0.8 * days + 12 * np.sin(days / 7 * 2 * np.pi) + rng.normal(0, 4, 120)})
past, future = sales[:100], sales[100:]
`;

/** Programs that the agent's model would write: each fits another curve to the past and says how far it is off in the future. */
const CONTINUATIONS = {
  mean: 'guess = np.full(20, past.sold.mean())',
  line: 'guess = np.polyval(np.polyfit(past.day, past.sold, 1), future.day)',
  parabola: 'guess = np.polyval(np.polyfit(past.day, past.sold, 2), future.day)',
  weekly: `def features(d): return np.column_stack([np.ones(len(d)), d, np.sin(d / 7 * 2 * np.pi), np.cos(d / 7 * 2 * np.pi)])
weights, *_ = np.linalg.lstsq(features(past.day), past.sold, rcond=None)
guess = features(future.day) @ weights`,
};
const ERROR = 'error = float(np.abs(guess - future.sold).mean())\nround(error, 2)';

const sandbox = await Sandbox.create({ template: 'code-interpreter', timeoutMs: 300_000 });
try {
  const loaded = await sandbox.runCode(`${LOAD}sales.shape`);
  if (loaded.error) throw new Error(loaded.error.traceback);
  console.log(`loaded: ${loaded.text}`);

  const names = Object.keys(CONTINUATIONS);
  const forks = await sandbox.fork({ count: names.length, timeoutMs: 120_000 });
  const tries = await Promise.all(
    forks.map(async (fork, index) => {
      if (!fork.ok) throw fork.error;
      const { text, error } = await fork.sandbox.runCode(`${CONTINUATIONS[names[index]]}\n${ERROR}`);
      console.log(`${names[index]}: ${error ? `${error.name}: ${error.value}` : `off by ${text}`}`);
      return {
        name: names[index],
        sandbox: fork.sandbox,
        off: error ? Number.POSITIVE_INFINITY : Number(text),
      };
    }),
  );

  const best = tries.reduce((one, other) => (other.off < one.off ? other : one));
  await Promise.all(tries.filter((each) => each !== best).map((each) => each.sandbox.kill()));
  // The chosen fork still has all variables. Its chart comes as an image and as data.
  const { results } = await best.sandbox.runCode(
    `import matplotlib.pyplot as plt
plt.plot(future.day, future.sold, label="sold")
plt.plot(future.day, guess, label="${best.name}")
plt.title("the best of four")
plt.show()`,
  );
  const { chart, png } = results.at(-1);
  console.log(
    `chart: ${chart.title}, ${chart.elements.map(({ label }) => label).join(' and ')}, ${png.length > 1000 ? 'with' : 'without'} an image`,
  );
  console.log(`kept: ${best.name}`);
  await best.sandbox.kill();
} finally {
  await sandbox.kill();
}

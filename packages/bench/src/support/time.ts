/** Milliseconds that an asynchronous piece of work takes. */
export async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
}

/** Repeats several kinds of work in turn, so that other work of the machine meets all of them alike. */
export async function interleave<Name extends string>(
  count: number,
  kinds: Record<Name, () => Promise<number>>,
  warmUps = 1,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(kinds) as Name[];
  const series = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = -warmUps; round < count; round++)
    for (const name of names) {
      const value = await kinds[name]();
      if (round >= 0) series[name].push(value);
    }
  return series;
}

/** Numbers in [0, 1) that follow from the seed (mulberry32), so that a run can be repeated. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** `SVC_SEED`, or one of the moment; printed, so that a failure can be repeated. */
export function chooseSeed(what: string): number {
  const given = Number(process.env.SVC_SEED);
  const seed = Number.isInteger(given) && given > 0 ? given : Date.now() % 1_000_000_000;
  console.log(`${what}: seed ${seed} (SVC_SEED repeats it)`);
  return seed;
}

import type { Case } from '../case.js';
import type { Target } from '../targets/target.js';
import { type CaseResult, observing } from '../wire/recorder.js';

/** Which capability a case misses on a target. */
export function missing(one: Case, target: Target): string | undefined {
  return one.needs?.find((need) => !target.capabilities.has(need));
}

/** Runs a case and returns its outcome. Never rejects. */
export async function runCase(
  one: Case,
  target: Target,
  gap: string | undefined,
): Promise<{ result: CaseResult; error?: unknown }> {
  const { id, area, operation, expects } = one;
  const base = { id, area, operation, expects };
  const lacks = missing(one, target);
  if (lacks !== undefined)
    return {
      result: { ...base, result: 'skip', reason: `${target.name} has no ${lacks}`, observations: [] },
    };
  const { observations, error } = await observing(() => one.run(target));
  if (gap !== undefined) {
    if (error !== undefined) return { result: { ...base, result: 'gap', reason: gap, observations } };
    const passed = new Error(`${id} passes: take it off the list of known gaps`);
    return { result: { ...base, result: 'fail', reason: passed.message, observations }, error: passed };
  }
  if (error === undefined) return { result: { ...base, result: 'pass', observations } };
  const reason = error instanceof Error ? error.message : String(error);
  return { result: { ...base, result: 'fail', reason, observations }, error };
}

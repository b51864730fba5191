import { AsyncLocalStorage } from 'node:async_hooks';

/** One answer that was seen, and that the documents allow. */
export interface Observation {
  operation: string;
  /** HTTP status, or the Connect code of an RPC failure, or `ok`. */
  outcome: string;
  /** `error_code` of the record, when there was one. */
  errorCode?: string;
}

export interface CaseResult {
  id: string;
  area: string;
  operation: string;
  expects: string;
  result: 'pass' | 'fail' | 'skip' | 'gap';
  /** Why it was skipped, or how it failed. */
  reason?: string;
  observations: Observation[];
}

const running = new AsyncLocalStorage<Observation[]>();

/** Notes an answer for the case that is running. Outside a case it goes nowhere. */
export function observe(observation: Observation): void {
  running.getStore()?.push(observation);
}

/** Runs something and gives what was observed meanwhile, however it ended. */
export async function observing(
  run: () => Promise<unknown>,
): Promise<{ observations: Observation[]; error?: unknown }> {
  const observations: Observation[] = [];
  try {
    await running.run(observations, run);
    return { observations };
  } catch (error) {
    return { observations, error };
  }
}

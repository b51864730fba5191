import type { Capability } from './capability.js';
import type { Target } from './targets/target.js';

/** One thing that the service must do, on any driver. */
export interface Case {
  /** Unique; starts with the area. */
  id: string;
  area: string;
  /** `operationId`, RPC as `process.Process/Start`, or `gateway`. */
  operation: string;
  /** `success`, an HTTP status with what distinguishes it, or a Connect code. */
  expects: string;
  needs?: readonly Capability[];
  /** Runs while nothing else does. */
  alone?: boolean;
  run(target: Target): Promise<unknown>;
}

/** A case before its area gave it an id. */
export type Draft = Omit<Case, 'id' | 'area'> & { name: string };

/** The operation that a case is about, what it expects of it, and under which conditions it runs. */
export type Covers = readonly [
  operation: Case['operation'],
  expects: Case['expects'],
  conditions?: Pick<Case, 'needs' | 'alone'>,
];

/** A case: a sentence about behaviour, what it covers, and how to see it. */
export function check(name: string, [operation, expects, conditions]: Covers, run: Case['run']): Draft {
  return { name, operation, expects, ...conditions, run };
}

/** Cases of one area; the ids follow from the names. */
export function casesOf(area: string, drafts: readonly Draft[]): Case[] {
  return drafts.map(({ name, ...draft }) => ({ id: `${area}: ${name}`, area, ...draft }));
}

import { actionsBetween } from './actions.js';
import type { Plan, PlanInput } from './input.js';
import { decideMirror } from './mirror.js';
import { TreeIndex } from './tree-index.js';
import { decideTwoWay } from './two-way.js';

/** Compares what was in common with what both sides have now, and says what brings them together. Pure. */
export function plan(input: PlanInput): Plan {
  const { base, local, remote, mode } = input;
  const index = new TreeIndex(base, local, remote);
  const decision = mode === 'two-way' ? decideTwoWay(input, index) : decideMirror(input);
  return actionsBetween({ base, local, remote, decision });
}

import type { BaseContext } from '../api/context/context.js';
import type { EgressLimits } from './usage/egress-limits.js';
import type { UsageMeter } from './usage/usage-meter.js';

/** The base context with what measures the use of teams. */
export interface TeamsContext extends BaseContext {
  readonly usage: UsageMeter;
  readonly egressLimits: EgressLimits;
}

export type Uses<K extends keyof TeamsContext> = Pick<TeamsContext, K>;

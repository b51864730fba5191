import type { SamplerName } from '../../config/samplers.js';
import type { TraceContext } from './finished-span.js';

export interface Sampling {
  sampler: SamplerName;
  /** 0 to 1. */
  ratio: number;
}

export interface Start {
  sampled: boolean;
  /** The caller's place in a trace that is continued. */
  parent?: TraceContext;
  /** The caller's place, which the new trace only points to. */
  link?: TraceContext;
}

/**
 * Decides how a request begins. Only the `parentbased_` samplers trust callers: then their trace continues, and whether it is
 * recorded is theirs to say. With the others a caller can neither force the recording nor put spans into a trace of its choice:
 * the ratio is drawn here, not from its trace id, and its own trace is linked.
 * @param random from 0 to 1
 */
export function decideStart(
  { sampler, ratio }: Sampling,
  caller: TraceContext | undefined,
  random: number,
): Start {
  const believes = sampler.startsWith('parentbased_');
  if (believes && caller !== undefined) return { sampled: caller.sampled, parent: caller };
  const sampled = sampler.endsWith('always_on') || (sampler.endsWith('traceidratio') && random < ratio);
  return caller === undefined ? { sampled } : { sampled, link: caller };
}

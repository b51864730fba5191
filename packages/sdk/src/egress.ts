export { type EgressExplanation, type ExplainEgressOptions, explainEgress } from './egress/explain-egress.js';

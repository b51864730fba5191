export { type Address, contains, parseAddress, parseRange, type Range } from './addresses.js';
export {
  type CompiledPolicy,
  compilePolicy,
  type EgressOptions,
  egressMode,
} from './compile.js';
export { deniedRangeOf, type NamedRange, readRanges } from './denied-ranges.js';
export { type EgressExplanation, explainEgress } from './explain.js';
export { type ForwardedDestinations, forwardedOf } from './forwarded.js';
export {
  type Host,
  type HostPattern,
  parseAuthority,
  parseHost,
  parseHostPattern,
  splitAuthority,
} from './hosts.js';
export { type Placeholder, parseHeaderValue, placeholdersOf, type ValuePart } from './placeholders.js';
export {
  DENY_ALL,
  type EgressDecision,
  type EgressFlow,
  type EgressPolicy,
  type EgressProxy,
  type EgressRule,
  PolicyError,
} from './policy.js';
export type { TransformRules } from './read-rules.js';
export {
  type EgressSettings,
  type NetworkSettings,
  policyFromSettings,
  readEgress,
  readNetwork,
} from './read-settings.js';

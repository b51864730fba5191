export { type Address, contains, parseAddress, parseRange, type Range } from './policy/addresses.js';
export {
  type CompiledPolicy,
  compilePolicy,
  decideEgress,
  type EgressOptions,
  egressMode,
  needsProxy,
  parseAllowEntry,
} from './policy/decide.js';
export { deniedRangeOf, type NamedRange, readRanges } from './policy/denied-ranges.js';
export { type EgressExplanation, explainEgress } from './policy/explain.js';
export { type ForwardedDestinations, forwardedOf } from './policy/forwarded.js';
export { policyFromSettings } from './policy/from-settings.js';
export { type Host, type HostPattern, matchesHost, parseHost, parseHostPattern } from './policy/hosts.js';
export { type Placeholder, parseHeaderValue, placeholdersOf, type ValuePart } from './policy/placeholders.js';
export { PolicyError } from './policy/policy-error.js';
export { type EgressSettings, parseProxyAddress, readSettings } from './policy/read-settings.js';
export type {
  EgressDecision,
  EgressFlow,
  EgressPolicy,
  EgressProxy,
  EgressRule,
} from './policy/types.js';
export { DENY_ALL } from './policy/types.js';

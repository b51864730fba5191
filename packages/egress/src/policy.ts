export { type Placeholder, parseHeaderValue, placeholdersOf, type ValuePart } from './policy/placeholders.js';
export type {
  EgressDecision,
  EgressFlow,
  EgressPolicy,
  EgressProxy,
  EgressRule,
} from './policy/types.js';

export { operatorRules } from './gen/operator-rules.js';
export { platformRules } from './gen/platform-rules.js';
export type { OperationRules } from './operation-rules.js';

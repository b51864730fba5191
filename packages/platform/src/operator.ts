// A document of its own, with names that the platform API has too: it is an entry of its own, `@svc/platform/operator`.
export type {
  components as operatorComponents,
  operations as operatorOperationTypes,
  paths as operatorPaths,
} from './gen/operator.js';
export { operatorOperations } from './gen/operator-operations.js';
export type * from './gen/operator-schemas.js';
export { createOperatorClient, type OperatorClient, type OperatorClientOptions } from './operator-client.js';

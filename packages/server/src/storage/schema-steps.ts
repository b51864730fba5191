import { migrations } from './migrations/index.js';

/** Steps of the schema that this version of the server knows, in the order in which they apply. */
export const schemaSteps: readonly string[] = migrations.map(({ id }) => id);

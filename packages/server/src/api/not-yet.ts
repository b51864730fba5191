import type { OperationId } from './operations.js';

/**
 * Operations of the document that have no handler yet. They are not routed, and a test fails as long as one is here:
 * the list exists so that the server starts while resources are being written.
 */
export const notYet: readonly OperationId[] = [];

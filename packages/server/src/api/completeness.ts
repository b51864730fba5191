import type { PartialHandlers } from './handler.js';
import type { OperationId } from './operations.js';
import type { RouteEntry } from './route-table.js';

/**
 * Compares handlers with the document.
 * @throws {Error} naming every operation without a handler and every handler without an operation.
 */
export function assertComplete(
  routes: RouteEntry[],
  handlers: PartialHandlers,
  notYet: readonly OperationId[] = [],
): void {
  const operations = new Set(routes.map((route) => route.operationId));
  const missing = [...operations].filter((id) => handlers[id] === undefined && !notYet.includes(id));
  const surplus = Object.keys(handlers).filter((id) => !operations.has(id as OperationId));
  const stale = notYet.filter((id) => handlers[id] !== undefined || !operations.has(id));
  const complaints = [
    ...(missing.length > 0 ? [`no handler for ${missing.join(', ')}`] : []),
    ...(surplus.length > 0 ? [`no operation for the handlers ${surplus.join(', ')}`] : []),
    ...(stale.length > 0 ? [`listed as not yet there, but are (or never will be): ${stale.join(', ')}`] : []),
  ];
  if (complaints.length > 0) throw new Error(complaints.join('; '));
}

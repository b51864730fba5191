import type { RouteEntry } from './route-table.js';

/**
 * Compares handlers with the document.
 * @throws {Error} naming every operation without a handler and every handler without an operation.
 */
export function assertComplete(routes: readonly RouteEntry[], handlers: object): void {
  const operations = new Set(routes.map((route) => route.operationId));
  const handled = new Set(Object.keys(handlers));
  const missing = [...operations].filter((id) => !handled.has(id));
  const surplus = [...handled].filter((id) => !operations.has(id));
  const problems = [
    ...(missing.length > 0 ? [`no handler for ${missing.join(', ')}`] : []),
    ...(surplus.length > 0 ? [`no operation for the handlers ${surplus.join(', ')}`] : []),
  ];
  if (problems.length > 0) throw new Error(problems.join('; '));
}

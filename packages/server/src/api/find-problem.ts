import { Readable } from 'node:stream';
import { findNul } from './nul.js';
import type { RouteEntry } from './route-table.js';
import type { OperationChecks } from './validation.js';

/** What of a request does not fit the document, in one line. PostgreSQL stores no NUL: it is refused everywhere. */
export function findProblem(
  route: RouteEntry,
  checks: OperationChecks,
  query: Record<string, unknown>,
  body: unknown,
): string | undefined {
  const queryProblem = checks.query(query) ?? nulProblem(query, 'query');
  if (queryProblem !== undefined || !route.bodyTypes.includes('application/json')) return queryProblem;
  if (body instanceof Readable) return 'the body must be application/json';
  if (body === undefined) return route.bodyRequired ? 'the body is missing' : undefined;
  return checks.body(body) ?? nulProblem(body, 'body');
}

export function nulProblem(value: unknown, place: string): string | undefined {
  const found = findNul(value, place);
  return found === undefined ? undefined : `${found.slice(0, 200)} has a NUL character`;
}

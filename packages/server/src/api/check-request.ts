import { Readable } from 'node:stream';
import type { ParameterObject } from './document.js';
import type { RouteEntry } from './route-table.js';
import type { OperationChecks } from './validation.js';

/** Describes in one line how a request does not fit the document. PostgreSQL stores no NUL: it is refused everywhere. */
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

/** Deepest level that is searched: the document has nothing deeper. */
const MAX_DEPTH = 50;

/**
 * Returns the place of a text with a NUL character, as in `body.metadata.a`; undefined when there is none. PostgreSQL cannot keep
 * one, and no name, path, variable or command may have one.
 */
function findNul(value: unknown, place: string, depth = 0): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? place : undefined;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('\0')) return place;
    const found = findNul(inner, `${place}.${key}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

export type ParsedQuery = Record<string, string | string[]>;

/**
 * Brings list parameters into the form that the document describes: `a,b` of an unexploded list and a single value of
 * an exploded one become arrays. Others stay as they came, so that a repeated single value fails validation.
 */
export function shapeQuery(parameters: ParameterObject[], query: ParsedQuery): Record<string, unknown> {
  const shaped: Record<string, unknown> = { ...query };
  for (const parameter of parameters) {
    if (parameter.in !== 'query' || parameter.schema?.type !== 'array') continue;
    const value = query[parameter.name];
    if (value === undefined) continue;
    if (parameter.explode === false && typeof value === 'string')
      shaped[parameter.name] = value === '' ? [] : value.split(',');
    else if (typeof value === 'string') shaped[parameter.name] = [value];
  }
  return shaped;
}

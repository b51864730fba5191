import { platformDocument, volumesDocument } from '@svc/platform/openapi';
import { findProblem, type Schema } from './json-schema.js';

type Document = typeof platformDocument;

interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  explode?: boolean;
  schema?: Schema;
}

/** One operation of a document, as far as its requests are concerned. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  /** Path template. */
  readonly path: string;
  /** True when it needs a credential. */
  readonly secured: boolean;
  /** Its JSON body; undefined when it has none. */
  readonly body: { readonly required: boolean; readonly schema: Schema | undefined } | undefined;
  readonly query: readonly Parameter[];
  readonly document: Document;
}

/** The operation of a method and path. `allowed`: the path is there, but not with this method. */
export type Match =
  | { kind: 'operation'; operation: Operation; params: Record<string, string> }
  | { kind: 'method'; allowed: string[] }
  | { kind: 'none' };

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;

/** The operations of the platform API and of the volume content API. */
export const operations: readonly Operation[] = [platformDocument, volumesDocument].flatMap(readDocument);

const patterns = operations.map((operation) => ({
  operation,
  parts: operation.path.split('/'),
  literals: operation.path.split('/').filter((part) => !part.startsWith('{')).length,
}));
// A literal wins over a parameter: /sandboxes/metrics over /sandboxes/{sandboxID}.
patterns.sort((a, b) => b.literals - a.literals);

/** Finds the operation of a request. */
export function matchOperation(method: string, pathname: string): Match {
  const parts = pathname.split('/');
  const allowed: string[] = [];
  for (const { operation, parts: wanted } of patterns) {
    if (wanted.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((part, index) => {
      const given = parts[index] as string;
      if (!part.startsWith('{')) return part === given;
      const value = decode(given);
      if (value === undefined || value === '') return false;
      params[part.slice(1, -1)] = value;
      return true;
    });
    if (!fits) continue;
    if (operation.method === method) return { kind: 'operation', operation, params };
    allowed.push(operation.method);
  }
  return allowed.length > 0 ? { kind: 'method', allowed } : { kind: 'none' };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Reads the query of a request into the values of the document, or says what is wrong with it. */
export function readQuery(
  { query, document }: Operation,
  search: URLSearchParams,
): { values: Record<string, unknown> } | { problem: string } {
  const values: Record<string, unknown> = {};
  for (const parameter of query) {
    const given = search.getAll(parameter.name);
    if (given.length === 0) {
      if (parameter.required === true)
        return { problem: `query must have required property '${parameter.name}'` };
      continue;
    }
    const schema = parameter.schema ?? {};
    const value = shape(schema, parameter.explode !== false, given, (ref) => lookUp(document, ref));
    const problem =
      findProblem(schema, value, `query.${parameter.name}`, (ref) => lookUp(document, ref)) ??
      findNul(value, `query.${parameter.name}`);
    if (problem !== undefined) return { problem };
    values[parameter.name] = value;
  }
  return { values };
}

/** Query values are text: numbers, booleans and lists are read out of it. What cannot be read stays text, and is refused. */
function shape(schema: Schema, explode: boolean, given: string[], lookup: (ref: string) => Schema): unknown {
  const { type } = typeof schema.$ref === 'string' ? lookup(schema.$ref) : schema;
  if (type === 'array') {
    if (explode) return given;
    return given.length > 1 ? given : given[0] === '' ? [] : given[0]?.split(',');
  }
  const [text = ''] = given;
  if (given.length > 1) return given;
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?(e\d+)?$/i.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** Returns the problem of a JSON body; undefined when there is none. */
export function bodyProblem({ body, document }: Operation, value: unknown): string | undefined {
  if (value === undefined) return body?.required ? 'the body is missing' : undefined;
  if (body?.schema === undefined) return undefined;
  return findProblem(body.schema, value, 'body', (ref) => lookUp(document, ref)) ?? findNul(value, 'body');
}

function findNul(value: unknown, place: string): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? `${place} has a NUL character` : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('\0')) return `${place} has a NUL character`;
    const found = findNul(inner, `${place}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readDocument(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method): Operation[] => {
      const raw = item[method] as Record<string, unknown> | undefined;
      if (!raw) return [];
      const parameters = [...((item.parameters as Schema[]) ?? []), ...((raw.parameters as Schema[]) ?? [])];
      const body = raw.requestBody && resolve(document, raw.requestBody as Schema);
      const content = (body as { content?: Record<string, { schema?: Schema }> } | undefined)?.content;
      const json = content?.['application/json'];
      return [
        {
          id: raw.operationId as string,
          method: method.toUpperCase(),
          path,
          secured: ((raw.security ?? document.security ?? []) as unknown[]).length > 0,
          body: json && { required: (body as { required?: boolean }).required === true, schema: json.schema },
          query: parameters
            .map((parameter) => resolve(document, parameter) as unknown as Parameter)
            .filter((parameter) => parameter.in === 'query'),
          document,
        },
      ];
    }),
  );
}

function resolve(document: Document, value: Schema): Schema {
  return typeof value.$ref === 'string' ? lookUp(document, value.$ref) : value;
}

function lookUp(document: Document, reference: string): Schema {
  let at: unknown = document;
  for (const part of reference.slice(2).split('/'))
    at = (at as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  if (at === undefined) throw new Error(`${reference} leads nowhere.`);
  return at as Schema;
}

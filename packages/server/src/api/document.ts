import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { OperationId, OperatorOperationId } from './operations.js';

export interface ParameterObject {
  name: string;
  in: 'query' | 'path' | 'header' | 'cookie';
  required?: boolean;
  style?: string;
  explode?: boolean;
  schema?: Record<string, unknown>;
}

export interface ResponseObject {
  headers?: Record<string, { required?: boolean; schema?: unknown }>;
  content?: Record<string, { schema?: unknown }>;
}

export interface OperationObject<Id extends string = string> {
  operationId: Id;
  deprecated?: boolean;
  security?: unknown[];
  parameters?: (ParameterObject | { $ref: string })[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: unknown }> } | { $ref: string };
  responses: Record<string, ResponseObject | { $ref: string }>;
}

/** An OpenAPI document. @typeParam Id its operations */
export interface OpenApiDocument<Id extends string = string> {
  security?: unknown[];
  paths: Record<string, Record<string, unknown>>;
  components?: Record<string, unknown>;
  /** Only a type: ties the document to its operations. */
  readonly operationIds?: Id;
}

/** Reads the bundled OpenAPI document of the platform API. */
export const readPlatformDocument = (): OpenApiDocument<OperationId> =>
  readDocument('platform.json', 'openapi.json');

/** Reads the bundled OpenAPI document of the operator API. */
export const readOperatorDocument = (): OpenApiDocument<OperatorOperationId> =>
  readDocument('operator.json', 'operator.openapi.json');

/** One of the documents that `@svc/platform` was generated from, by its names in the sources and in the package. */
function readDocument<Id extends string>(source: string, packaged: string): OpenApiDocument<Id> {
  const directory = path.dirname(createRequire(import.meta.url).resolve('@svc/platform/package.json'));
  // In the repository the generated source is the newer one; the published package has only the other.
  const candidates = [path.join(directory, 'src/gen', source), path.join(directory, 'dist', packaged)];
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file === undefined) throw new Error(`${packaged} of @svc/platform is missing`);
  return JSON.parse(readFileSync(file, 'utf8')) as OpenApiDocument<Id>;
}

/** Follows one `$ref` inside the document. */
export function resolve<T>(document: OpenApiDocument, value: T | { $ref: string }): T {
  const reference = (value as { $ref?: unknown }).$ref;
  if (typeof reference !== 'string') return value as T;
  let found: unknown = document;
  for (const part of reference.slice(2).split('/'))
    found = (found as Record<string, unknown>)[
      decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    ];
  return resolve(document, found as T);
}

/** The JSON pointer (as a URI fragment) of parts of the document. */
export function pointer(...parts: string[]): string {
  return `#/${parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
}

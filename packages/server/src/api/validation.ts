import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type OpenApiDocument, pointer, type ResponseObject, resolve } from './document.js';
import type { RouteEntry } from './route-table.js';

/** Under which references find the document that is checked against. */
const DOCUMENT = 'document.json';

/** Checks of one operation. Each gives undefined, or what is wrong in one line. Compiled at first use. */
export interface OperationChecks {
  query(value: Record<string, unknown>): string | undefined;
  body(value: unknown): string | undefined;
  /** For tests: whether an answer is one that the document allows. */
  response(status: number, headers: Record<string, unknown>, body: unknown): string | undefined;
}

export function createValidation(document: OpenApiDocument): (route: RouteEntry) => OperationChecks {
  const strict = createAjv(document, false);
  // Query values are text: numbers and booleans are read out of it.
  const lenient = createAjv(document, true);
  return (route) => {
    const base = ['paths', route.path, route.method.toLowerCase()];
    const query = once(() => lenient.compile(querySchema(route)));
    const body = once(() =>
      strict.compile({
        $ref: `${DOCUMENT}${pointer(...base, 'requestBody', 'content', 'application/json', 'schema')}`,
      }),
    );
    const responses = new Map<string, ValidateFunction>();
    return {
      query: (value) => verdict(query(), value, 'query'),
      body: (value) => verdict(body(), value, 'body'),
      response(status, headers, value) {
        const declared = route.operation.responses[String(status)];
        if (declared === undefined) return `status ${status} is not in the document`;
        const response = resolve<ResponseObject>(document, declared);
        for (const [name, header] of Object.entries(response.headers ?? {}))
          if (header.required === true && headers[name.toLowerCase()] === undefined)
            return `the header ${name} is missing`;
        const schema = response.content?.['application/json']?.schema;
        if (schema === undefined) return value === undefined ? undefined : 'the document has no body here';
        const key = String(status);
        let check = responses.get(key);
        if (check === undefined) {
          check = strict.compile(relocate(schema) as object);
          responses.set(key, check);
        }
        return verdict(check, value, 'response');
      },
    };
  };
}

function createAjv(document: OpenApiDocument, coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    coerceTypes,
    allErrors: false,
    validateSchema: false,
    validateFormats: true,
  });
  (formats as unknown as (target: Ajv2020) => void)(ajv);
  ajv.addFormat('binary', true);
  ajv.addFormat('password', true);
  ajv.addSchema(document as object, DOCUMENT, false, false);
  return ajv;
}

function querySchema(route: RouteEntry): object {
  const parameters = route.parameters.filter((parameter) => parameter.in === 'query');
  return {
    type: 'object',
    required: parameters
      .filter((parameter) => parameter.required === true)
      .map((parameter) => parameter.name),
    properties: Object.fromEntries(
      parameters.map((parameter) => [parameter.name, relocate(parameter.schema ?? {})]),
    ),
  };
}

/** Makes references inside a schema absolute, so that it compiles without its document. */
function relocate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocate);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' && inner.startsWith('#')
        ? `${DOCUMENT}${inner}`
        : relocate(inner),
    ]),
  );
}

function verdict(check: ValidateFunction, value: unknown, place: string): string | undefined {
  return check(value) ? undefined : describe(check.errors?.[0], place);
}

/** The first error as one line. Names places and rules, never values. */
function describe(error: ErrorObject | undefined, place: string): string {
  if (error === undefined) return `the ${place} is invalid`;
  const where = `${place}${error.instancePath.replaceAll('/', '.')}`;
  const more =
    error.keyword === 'enum'
      ? `: ${(error.params as { allowedValues: unknown[] }).allowedValues.join(', ')}`
      : '';
  return `${where} ${error.message ?? 'is invalid'}${more}`.split('\n')[0]!.slice(0, 500);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

import { createRequire } from 'node:module';
import { daemonDocument } from '@svc/daemon/openapi';
import { platformDocument, volumesDocument } from '@svc/platform/openapi';
import type { Ajv2020 as AjvType, ValidateFunction } from 'ajv/dist/2020.js';

const require = createRequire(import.meta.url);
const { Ajv2020 } = require('ajv/dist/2020.js') as { Ajv2020: typeof AjvType };
const addFormats = require('ajv-formats') as (ajv: AjvType) => void;

export type Json = Record<string, unknown>;

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  style?: string;
  explode?: boolean;
  schema?: Json;
}

export interface Operation {
  id: string;
  method: string;
  /** Path template. */
  path: string;
  deprecated: boolean;
  /** True when it needs the API key (or the token). */
  secured: boolean;
  allowedWhenBlocked: boolean;
  parameters: Parameter[];
  bodyTypes: string[];
  bodySchema: Json | undefined;
  bodyRequired: boolean;
  /** A body that fits and names nothing that exists, from `x-sample`. */
  sampleBody: unknown;
  /** Documented statuses. */
  statuses: string[];
  /** Returns the problem of an answer, or undefined. */
  checkAnswer(status: number, contentType: string | undefined, text: string): string | undefined;
}

/** The operations of one OpenAPI document, with checks of their answers. */
export interface Document {
  name: string;
  operations: ReadonlyMap<string, Operation>;
  /** Follows a reference. */
  resolve<T>(value: T): T;
  root: Json;
}

interface RawOperation {
  operationId: string;
  deprecated?: boolean;
  security?: unknown[];
  'x-allowed-when-blocked'?: boolean;
  'x-sample'?: unknown;
  parameters?: Json[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Json }> };
  responses: Record<string, { content?: Record<string, { schema?: Json }> }>;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

function readDocument(name: string, root: Json): Document {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true });
  addFormats(ajv);
  for (const format of ['int32', 'int64', 'float', 'double', 'binary', 'byte', 'password'])
    ajv.addFormat(format, true);
  ajv.addSchema(root, name);

  const lookUp = (reference: string): unknown =>
    reference
      .slice(2)
      .split('/')
      .reduce<unknown>((at, key) => (at as Json)[key.replaceAll('~1', '/').replaceAll('~0', '~')], root);
  const resolve = <T>(value: T): T => {
    let at: unknown = value;
    while (typeof at === 'object' && at !== null && typeof (at as Json).$ref === 'string')
      at = lookUp((at as Json).$ref as string);
    return at as T;
  };

  const operations = new Map<string, Operation>();
  for (const [path, item] of Object.entries(root.paths as Record<string, Json>)) {
    for (const method of METHODS) {
      const raw = item[method] as RawOperation | undefined;
      if (raw === undefined) continue;
      const parameters = [...((item.parameters as Json[] | undefined) ?? []), ...(raw.parameters ?? [])].map(
        (parameter) => resolve(parameter) as unknown as Parameter,
      );
      const body = resolve(raw.requestBody);
      const pointer = `#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method}/responses`;
      const checks = new Map<string, ValidateFunction>();
      operations.set(raw.operationId, {
        id: raw.operationId,
        method: method.toUpperCase(),
        path,
        deprecated: raw.deprecated === true,
        secured: (raw.security ?? (root.security as unknown[] | undefined) ?? []).length > 0,
        allowedWhenBlocked: raw['x-allowed-when-blocked'] === true,
        sampleBody: raw['x-sample'],
        parameters,
        bodyTypes: Object.keys(body?.content ?? {}),
        bodySchema: body?.content['application/json']?.schema,
        bodyRequired: body?.required === true,
        statuses: Object.keys(raw.responses),
        checkAnswer(status, contentType, text) {
          const entry = raw.responses[String(status)];
          if (entry === undefined) return `status ${status} is not documented: ${text.slice(0, 300)}`;
          const content = resolve(entry).content;
          if (content === undefined || Object.keys(content).length === 0)
            return text === '' ? undefined : `status ${status} should have no body: ${text.slice(0, 200)}`;
          const type = (contentType ?? '').split(';')[0]!.trim().toLowerCase();
          if (content[type] === undefined) return `status ${status} came as '${contentType ?? ''}'`;
          if (type !== 'application/json') return undefined;
          let check = checks.get(String(status));
          if (check === undefined) {
            const own = (entry as unknown as Json).$ref;
            const at = typeof own === 'string' ? own : `${pointer}/${status}`;
            check = ajv.compile({ $ref: `${name}${encodeURI(at)}/content/application~1json/schema` });
            checks.set(String(status), check);
          }
          let value: unknown;
          try {
            value = JSON.parse(text);
          } catch {
            return `status ${status}: not JSON: ${text.slice(0, 200)}`;
          }
          if (check(value)) return undefined;
          return `status ${status} does not fit its schema: ${ajv.errorsText(check.errors)} in ${text.slice(0, 400)}`;
        },
      });
    }
  }
  return { name, operations, resolve, root };
}

export const platform = readDocument('platform', platformDocument);
export const daemon = readDocument('daemon', daemonDocument);
export const volumes = readDocument('volumes', volumesDocument);

/** @throws {Error} for an operation that the document does not have. */
export function operationOf(document: Document, id: string): Operation {
  const operation = document.operations.get(id);
  if (operation === undefined) throw new Error(`${document.name} has no operation ${id}`);
  return operation;
}

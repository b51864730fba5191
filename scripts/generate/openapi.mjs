// From one bundled OpenAPI document to the generated files of its package.
import openapiTypescript, {
  astToString,
  STRING,
  stringToAST,
  tsIntersection,
  tsLiteral,
  tsUnion,
} from 'openapi-typescript';
import ts from 'typescript';
import { operationsOf, sourceOf } from './documents.mjs';
import { header, sha256 } from './provenance.mjs';

/** Returns the files of one document: path below `src/gen` to content. */
export async function openapiFiles(document, bundle) {
  const text = `${JSON.stringify(bundle, null, 2)}\n`;
  const top = header(sourceOf(document), text);
  const { name } = document;
  return {
    [`${name}.ts`]: top + (await typesOf(bundle)),
    [`${name}-schemas.ts`]: top + aliasesOf(name, bundle),
    [`${name}-operations.ts`]: top + operationTableOf(name, bundle),
    ...(ruledDocuments.has(name) ? { [`${name}-rules.ts`]: top + ruleTableOf(name, bundle) } : {}),
    [`${name}.json`]: jsonOf(document, bundle, text),
  };
}

async function typesOf(bundle) {
  const nodes = await openapiTypescript(withOptionalHeaders(structuredClone(bundle)), {
    // A default is the server's to apply: a caller may leave the field out, so it stays optional.
    defaultNonNullable: false,
    emptyObjectsUnknown: true,
    silent: true,
    transform: (schema) => openEnum(schema) ?? binary(schema),
  });
  return astToString(nodes);
}

/** `x-open-enum: true`: the documented values for completion, any string for the future. */
function openEnum(schema) {
  if (schema['x-open-enum'] !== true) return undefined;
  const values = schema.enum ?? schema.anyOf?.flatMap((branch) => branch.enum ?? []) ?? [];
  const anyString = tsIntersection([STRING, ts.factory.createTypeLiteralNode([])]);
  return tsUnion([...values.map((value) => tsLiteral(value)), anyString]);
}

/** `format: binary`: whatever fetch takes and gives without copying. */
function binary(schema) {
  if (schema.format !== 'binary') return undefined;
  return stringToAST('type T = Blob | ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>')[0].type;
}

/** Required headers are set by the clients, once for all calls; a call need not repeat them. */
function withOptionalHeaders(value) {
  if (value === null || typeof value !== 'object') return value;
  if (value.in === 'header' && value.required) value.required = false;
  for (const inner of Object.values(value)) withOptionalHeaders(inner);
  return value;
}

/** Names that a record must not take from the language; the record gets a suffix. */
const shadowing = new Set([
  'Error',
  'Event',
  'Request',
  'Response',
  'File',
  'Map',
  'Set',
  'Record',
  'Date',
  'Object',
]);
const aliasOf = (schema) => (shadowing.has(schema) ? `${schema}Record` : schema);

function aliasesOf(name, bundle) {
  const schemas = Object.entries(bundle.components?.schemas ?? {}).filter(([key]) =>
    /^[A-Za-z_]\w*$/.test(key),
  );
  const lines = schemas.map(([key, schema]) => {
    const summary = schema.description
      ?.trim()
      .split(/\n\s*\n/)[0]
      .replace(/\s*\n\s*/g, ' ')
      .replaceAll('*/', '*\\/');
    const comment = summary ? `/** ${summary} */\n` : '';
    return `${comment}export type ${aliasOf(key)} = components['schemas']['${key}'];\n`;
  });
  return `import type { components } from './${name}.js';\n\n${lines.join('\n')}`;
}

function operationTableOf(name, bundle) {
  const lines = [...operationsOf(bundle)].map(({ path, method, operation }) => {
    const deprecated = operation.deprecated ? ', deprecated: true' : '';
    const comment = operation.deprecated ? '  /** @deprecated */\n' : '';
    return `${comment}  ${operation.operationId}: { method: '${method}', path: '${path}'${deprecated} },`;
  });
  return `/** Method and path template of every operation of ${name}.yaml, by operationId. */\nexport const ${name}Operations = {\n${lines.join('\n')}\n} as const;\n`;
}

/** Documents of the server, whose operations have rules. */
const ruledDocuments = new Set(['platform', 'operator']);

const isTrue = (value) => value === true;
const isText = (value) => typeof value === 'string';
const among =
  (...values) =>
  (value) =>
    values.includes(value);

/** The fields of operations that are rules, and the values that each may have; `spec/README.md` describes them. */
const ruleFields = {
  'x-allowed-when-blocked': isTrue,
  'x-rate-group': among('create', 'redeliver'),
  'x-audit': among(true, false),
  'x-acts-on': ({ kind, answer, body, ...rest }) =>
    isText(kind) && [answer, body].every((name) => name === undefined || isText(name)) && isEmpty(rest),
  'x-runs-on': among('placement', 'volume'),
  'x-wakes': isTrue,
  'x-successor': isText,
  'x-dashboard': (value) => isTrue(value) || (Array.isArray(value) && value.every(isText)),
  'x-probe': isTrue,
};
/** Fields of operations that are for readers. */
const otherFields = new Set(['x-decided', 'x-sample']);

const isEmpty = (object) => Object.keys(object).length === 0;
const camelCase = (field) => field.slice(2).replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());

/**
 * @param sampled whether operations with a body need a sample of it
 * @throws {Error} for a field or a value that nothing reads
 */
function rulesOf({ operationId, deprecated, ...operation }, sampled) {
  const rules = {};
  for (const [field, value] of Object.entries(operation)) {
    if (!field.startsWith('x-') || otherFields.has(field)) continue;
    if (ruleFields[field]?.(value) !== true)
      throw new Error(`${operationId}: nothing reads ${field}: ${JSON.stringify(value)}`);
    rules[camelCase(field)] = value;
  }
  if (sampled && operation.requestBody !== undefined && operation['x-sample'] === undefined)
    throw new Error(`${operationId} takes a body and has no x-sample of one`);
  if ('successor' in rules && deprecated !== true)
    throw new Error(`${operationId} has a successor and is not deprecated`);
  return rules;
}

function ruleTableOf(name, bundle) {
  const lines = [...operationsOf(bundle)].map(
    ({ operation }) =>
      `  ${operation.operationId}: ${JSON.stringify(rulesOf(operation, name === 'platform'))},`,
  );
  return `import type { OperationRules } from '../operation-rules.js';
import type { ${name}Operations } from './${name}-operations.js';

/** The rules of every operation of ${name}.yaml, by operationId. */
export const ${name}Rules: Readonly<Record<keyof typeof ${name}Operations, OperationRules>> = {\n${lines.join('\n')}\n};\n`;
}

function jsonOf(document, bundle, text) {
  const provenance = { source: sourceOf(document), sha256: sha256(text) };
  return `${JSON.stringify({ ...bundle, 'x-generated': provenance }, null, 2)}\n`;
}

// One Markdown page for an OpenAPI document: its operations, and the records that they send and answer with.

import { operationsOf } from './documents.mjs';

/** @param bundle the document with all of its parts in one, as `bundleDocument` returns it */
export function operationsPage(bundle, source) {
  const groups = new Map();
  for (const each of operationsOf(bundle))
    groups.set(groupOf(each), [...(groups.get(groupOf(each)) ?? []), each]);
  const schemas = bundle.components?.schemas ?? {};
  const parts = [
    `# ${bundle.info.title}`,
    `Version ${bundle.info.version}, from \`${source}\`.`,
    bundle.info.description?.trim() ?? '',
    ...[...groups].flatMap(([group, members]) => [
      `## ${group}`,
      ...members.map((member) => operationText(bundle, member)),
    ]),
    ...(Object.keys(schemas).length > 0 ? ['## Records'] : []),
    ...Object.entries(schemas).map(([name, schema]) => recordText(bundle, name, schema)),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function groupOf({ operation, path }) {
  return (
    operation.tags?.[0] ?? path.split('/').find((word) => word !== '' && !/^v\d+$/.test(word)) ?? 'Operations'
  );
}

function operationText(bundle, { path, method, operation, item }) {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((each) =>
    lookUp(bundle, each),
  );
  const body = lookUp(bundle, operation.requestBody);
  return [
    `### ${operation.operationId ?? `${method} ${path}`}`,
    `\`${method} ${path}\`${operation.deprecated ? ' (deprecated)' : ''}`,
    [operation.summary, operation.description]
      .filter(Boolean)
      .map((text) => text.trim())
      .join('\n\n'),
    parameters.length === 0
      ? ''
      : table(
          ['Parameter', 'In', 'Type', 'What'],
          parameters.map((each) => [
            `\`${each.name}\`${each.required ? ', required' : ''}`,
            each.in,
            typeOf(each.schema),
            each.description ?? '',
          ]),
        ),
    body === undefined ? '' : `Body${body.required ? ', required' : ''}: ${contentOf(body)}`,
    table(
      ['Status', 'Body', 'When'],
      Object.entries(operation.responses).map(([status, response]) => {
        const answer = lookUp(bundle, response);
        return [status, contentOf(answer), answer.description ?? ''];
      }),
    ),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function recordText(bundle, name, schema) {
  const members = (schema.allOf ?? [schema]).map((each) => lookUp(bundle, each));
  const required = new Set(members.flatMap((each) => each.required ?? []));
  const properties = members.flatMap((each) => Object.entries(each.properties ?? {}));
  return [
    `<a id="record-${name}"></a>`,
    `### ${name}`,
    schema.description?.trim() ?? '',
    properties.length === 0
      ? typeOf(schema)
      : table(
          ['Property', 'Type', 'What'],
          properties.map(([property, value]) => [
            `\`${property}\`${required.has(property) ? ', required' : ''}`,
            typeOf(value),
            describe(value),
          ]),
        ),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function describe(schema) {
  const limits = [
    ['minimum', 'at least'],
    ['maximum', 'at most'],
    ['minLength', 'at least, in characters,'],
    ['maxLength', 'at most, in characters,'],
    ['minItems', 'at least, in items,'],
    ['maxItems', 'at most, in items,'],
    ['default', 'default'],
  ]
    .filter(([key]) => schema[key] !== undefined)
    .map(([key, words]) => `${words} \`${JSON.stringify(schema[key])}\``);
  return [schema.description?.trim(), limits.join(', ')].filter(Boolean).join(' ');
}

function contentOf(part) {
  const types = Object.entries(part?.content ?? {});
  if (types.length === 0) return 'empty';
  return types.map(([type, { schema }]) => `${typeOf(schema)} (\`${type}\`)`).join(', ');
}

function typeOf(schema) {
  if (schema === undefined) return 'any';
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1);
    return schema.$ref.includes('/schemas/') ? `[${name}](#record-${name})` : `\`${name}\``;
  }
  if (schema.enum !== undefined) return schema.enum.map((each) => `\`${JSON.stringify(each)}\``).join(', ');
  for (const [key, word] of [
    ['oneOf', ' or '],
    ['anyOf', ' or '],
    ['allOf', ' and '],
  ])
    if (schema[key] !== undefined) return schema[key].map(typeOf).join(word);
  if (schema.type === 'array') return `list of ${typeOf(schema.items)}`;
  if (schema.properties === undefined && typeof schema.additionalProperties === 'object')
    return `map of ${typeOf(schema.additionalProperties)}`;
  const type = [schema.type ?? 'any'].flat().join(' or ');
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

function lookUp(bundle, value) {
  if (value?.$ref === undefined) return value;
  return value.$ref
    .slice(2)
    .split('/')
    .reduce((node, key) => node[key.replaceAll('~1', '/').replaceAll('~0', '~')], bundle);
}

function table(head, rows) {
  const line = (cells) =>
    `| ${cells.map((cell) => cell.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

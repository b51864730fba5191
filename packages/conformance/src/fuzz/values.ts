import type { Document, Json } from '../wire/documents.js';

export type Random = () => number;

export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

const TEXTS = [
  '',
  ' ',
  'a',
  'base',
  '0',
  '-1',
  '../..',
  '/etc/passwd',
  '%00',
  '\u0000',
  'ünïcödé 漢字 🙂',
  '\ud800',
  "'; drop table sandboxes; --",
  '${svc.secrets.x}',
  '__proto__',
  'constructor',
  'null',
  'x'.repeat(300),
  'x'.repeat(5_000),
  '\r\nX-Injected: 1',
  'i00000000000000000000',
  '00000000-0000-4000-8000-000000000000',
  '2020-01-01T00:00:00Z',
];

const NUMBERS = [0, 1, -1, 15, 100, 101, 3_600, 86_401, 1.5, 2 ** 31, -(2 ** 31), 2 ** 53, 1e308, -0];

const ODD: readonly unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [null],
  { a: { b: { c: [] } } },
  ...NUMBERS,
  ...TEXTS,
];

/** A value that the schema allows, most of the time: now and then a part is anything at all. */
export function sampleOf(document: Document, given: Json | undefined, random: Random, depth = 0): unknown {
  if (given === undefined || random() < 0.06 || depth > 6) return pick(random, ODD);
  const schema = document.resolve(given);
  if (Array.isArray(schema.enum)) return pick(random, schema.enum as unknown[]);
  for (const key of ['anyOf', 'oneOf'] as const)
    if (Array.isArray(schema[key]))
      return sampleOf(document, pick(random, schema[key] as Json[]), random, depth + 1);
  if (Array.isArray(schema.allOf)) {
    const parts = (schema.allOf as Json[]).map((part) => sampleOf(document, part, random, depth + 1));
    return Object.assign({}, ...parts.filter((part) => typeof part === 'object' && part !== null)) as unknown;
  }
  const types = Array.isArray(schema.type) ? (schema.type as string[]) : [schema.type as string | undefined];
  switch (pick(random, types)) {
    case 'object':
      return objectOf(document, schema, random, depth);
    case 'array': {
      const length = Math.floor(random() * 4);
      return Array.from({ length }, () =>
        sampleOf(document, schema.items as Json | undefined, random, depth + 1),
      );
    }
    case 'integer':
    case 'number': {
      const minimum = (schema.minimum as number | undefined) ?? 0;
      const maximum = Math.min((schema.maximum as number | undefined) ?? 1_000, minimum + 1_000);
      return random() < 0.3
        ? pick(random, NUMBERS)
        : minimum + Math.floor(random() * (maximum - minimum + 1));
    }
    case 'boolean':
      return random() < 0.5;
    case 'null':
      return null;
    default:
      return pick(random, TEXTS);
  }
}

function objectOf(document: Document, schema: Json, random: Random, depth: number): Json {
  const required = new Set((schema.required as string[] | undefined) ?? []);
  const made: Json = {};
  for (const [name, property] of Object.entries(
    (schema.properties as Record<string, Json> | undefined) ?? {},
  ))
    if (random() < (required.has(name) ? 0.93 : 0.4))
      made[name] = sampleOf(document, property, random, depth + 1);
  if (typeof schema.additionalProperties === 'object')
    for (let index = 0; index < random() * 3; index += 1)
      made[pick(random, TEXTS)] = sampleOf(document, schema.additionalProperties as Json, random, depth + 1);
  return made;
}

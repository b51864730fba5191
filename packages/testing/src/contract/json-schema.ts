/** A schema of JSON Schema 2020-12, as far as the documents use it. */
export type Schema = Record<string, unknown>;

/** Finds what a reference such as `#/components/schemas/Sandbox` means. */
export type Lookup = (reference: string) => Schema;

/**
 * Checks a value against a schema. Gives what is wrong in one line that names the place, or undefined.
 * @throws Error for a keyword that it does not know: it would have to guess.
 */
export function findProblem(
  schema: Schema,
  value: unknown,
  place: string,
  lookup: Lookup,
): string | undefined {
  for (const [keyword, rule] of Object.entries(schema)) {
    if (keyword in checks) {
      const problem = checks[keyword as keyof typeof checks]({ rule, schema, value, place, lookup });
      if (problem !== undefined) return problem;
    } else if (!descriptive.has(keyword) && !keyword.startsWith('x-')) {
      throw new Error(`The test service does not know the keyword ${keyword} of JSON Schema (${place}).`);
    }
  }
  return undefined;
}

interface Check {
  rule: unknown;
  schema: Schema;
  value: unknown;
  place: string;
  lookup: Lookup;
}

const descriptive = new Set([
  ...['description', 'title', 'deprecated', 'examples', 'example', 'default', 'writeOnly', 'readOnly'],
  // Read together with `properties`.
  'required',
]);

const checks = {
  $ref: ({ rule, value, place, lookup }: Check) => findProblem(lookup(rule as string), value, place, lookup),
  allOf: ({ rule, value, place, lookup }: Check) =>
    first(rule as Schema[], (part) => findProblem(part, value, place, lookup)),
  anyOf: ({ rule, value, place, lookup }: Check) =>
    (rule as Schema[]).some((part) => findProblem(part, value, place, lookup) === undefined)
      ? undefined
      : `${place} must match a schema in anyOf`,
  oneOf: ({ rule, value, place, lookup }: Check) =>
    (rule as Schema[]).filter((part) => findProblem(part, value, place, lookup) === undefined).length === 1
      ? undefined
      : `${place} must match exactly one schema in oneOf`,
  type({ rule, value, place }: Check) {
    const allowed = Array.isArray(rule) ? (rule as string[]) : [rule as string];
    return allowed.some((type) => isOfType(type, value))
      ? undefined
      : `${place} must be ${allowed.join(',')}`;
  },
  enum: ({ rule, value, place }: Check) =>
    (rule as unknown[]).includes(value)
      ? undefined
      : `${place} must be equal to one of the allowed values: ${(rule as unknown[]).join(', ')}`,
  properties({ rule, schema, value, place, lookup }: Check) {
    return ofObject(value, (members) => {
      const missing = ((schema.required as string[] | undefined) ?? []).find(
        (name) => !Object.hasOwn(members, name),
      );
      if (missing !== undefined) return `${place} must have required property '${missing}'`;
      return first(Object.entries(rule as Record<string, Schema>), ([name, part]) =>
        Object.hasOwn(members, name)
          ? findProblem(part, members[name], `${place}.${name}`, lookup)
          : undefined,
      );
    });
  },
  additionalProperties({ rule, schema, value, place, lookup }: Check) {
    if (rule === true) return undefined;
    const known = (schema.properties ?? {}) as Record<string, Schema>;
    return ofObject(value, (members) =>
      first(Object.keys(members), (name) => {
        if (Object.hasOwn(known, name)) return undefined;
        if (rule === false) return `${place} must NOT have additional properties`;
        return findProblem(rule as Schema, members[name], `${place}.${name}`, lookup);
      }),
    );
  },
  propertyNames: ({ rule, value, place, lookup }: Check) =>
    ofObject(value, (members) =>
      first(Object.keys(members), (name) =>
        findProblem(rule as Schema, name, `${place} property name`, lookup),
      ),
    ),
  minProperties: ({ rule, value, place }: Check) =>
    ofObject(value, (members) =>
      bounded(Object.keys(members).length >= (rule as number), place, 'more properties'),
    ),
  maxProperties: ({ rule, value, place }: Check) =>
    ofObject(value, (members) =>
      bounded(Object.keys(members).length <= (rule as number), place, 'fewer properties'),
    ),
  items: ({ rule, value, place, lookup }: Check) =>
    ofList(value, (items) =>
      first([...items.entries()], ([index, item]) =>
        findProblem(rule as Schema, item, `${place}.${index}`, lookup),
      ),
    ),
  minItems: ({ rule, value, place }: Check) =>
    ofList(value, ({ length }) => bounded(length >= (rule as number), place, `at least ${rule} items`)),
  maxItems: ({ rule, value, place }: Check) =>
    ofList(value, ({ length }) => bounded(length <= (rule as number), place, `at most ${rule} items`)),
  uniqueItems: ({ rule, value, place }: Check) =>
    ofList(value, (items) =>
      bounded(
        rule !== true || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
        place,
        'no item twice',
      ),
    ),
  pattern: ({ rule, value, place }: Check) =>
    ofText(value, (text) =>
      bounded(new RegExp(rule as string, 'u').test(text), place, `text that fits ${rule}`),
    ),
  minLength: ({ rule, value, place }: Check) =>
    ofText(value, (text) =>
      bounded([...text].length >= (rule as number), place, `at least ${rule} characters`),
    ),
  maxLength: ({ rule, value, place }: Check) =>
    ofText(value, (text) =>
      bounded([...text].length <= (rule as number), place, `at most ${rule} characters`),
    ),
  minimum: ({ rule, value, place }: Check) =>
    ofNumber(value, (number) => bounded(number >= (rule as number), place, `at least ${rule}`)),
  maximum: ({ rule, value, place }: Check) =>
    ofNumber(value, (number) => bounded(number <= (rule as number), place, `at most ${rule}`)),
  multipleOf: ({ rule, value, place }: Check) =>
    ofNumber(value, (number) => bounded(number % (rule as number) === 0, place, `a multiple of ${rule}`)),
  format({ rule, value, place }: Check) {
    const fits = Object.hasOwn(formats, rule as string) ? formats[rule as keyof typeof formats] : undefined;
    return fits === undefined || fits(value) ? undefined : `${place} must match format "${rule}"`;
  },
};

const bounded = (holds: boolean, place: string, what: string) =>
  holds ? undefined : `${place} must have ${what}`;

function first<Item>(items: readonly Item[], check: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = check(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const ofObject = (value: unknown, check: (members: Record<string, unknown>) => string | undefined) =>
  isObject(value) ? check(value) : undefined;
const ofList = (value: unknown, check: (items: unknown[]) => string | undefined) =>
  Array.isArray(value) ? check(value) : undefined;
const ofText = (value: unknown, check: (text: string) => string | undefined) =>
  typeof value === 'string' ? check(value) : undefined;
const ofNumber = (value: unknown, check: (number: number) => string | undefined) =>
  typeof value === 'number' ? check(value) : undefined;

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type && (type !== 'number' || Number.isFinite(value));
  }
}

const within = (least: number, most: number) => (value: unknown) =>
  typeof value !== 'number' || (value >= least && value <= most);

const formats = {
  int32: within(-(2 ** 31), 2 ** 31 - 1),
  int64: within(-(2 ** 63), 2 ** 63),
  uuid: (value: unknown) =>
    typeof value !== 'string' ||
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(value),
  uri: (value: unknown) =>
    typeof value !== 'string' || (/^[a-z][a-z0-9+.-]*:/i.test(value) && !/\s/.test(value)),
  'date-time': (value: unknown) =>
    typeof value !== 'string' ||
    (/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)$/.test(value) &&
      !Number.isNaN(Date.parse(value))),
};

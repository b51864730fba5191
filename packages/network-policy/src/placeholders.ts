/** A part of a header value that is replaced by what it names, request by request. */
export type Placeholder = { kind: 'secret'; name: string } | { kind: 'identity'; name: string };

/** A header value, taken apart. */
export type ValuePart = string | Placeholder;

const FORMS = [
  { kind: 'secret', prefix: '${svc.secrets.' },
  { kind: 'identity', prefix: '${svc.identity.tokens.' },
] as const;

const SECRET_NAME = /^[a-z0-9_-]{1,128}$/;

/**
 * Takes a header value apart: literal text, `${svc.secrets.NAME}` (trimmed and in lower case) and
 * `${svc.identity.tokens.NAME}` (as it stands). Other `${…}` is literal.
 * @returns undefined when a placeholder is unterminated, empty, nested, or names no secret that could exist
 */
export function parseHeaderValue(value: string): ValuePart[] | undefined {
  const parts: ValuePart[] = [];
  let at = 0;
  for (;;) {
    const next = FORMS.map((form) => ({ form, index: value.indexOf(form.prefix, at) }))
      .filter(({ index }) => index >= 0)
      .sort((a, b) => a.index - b.index)[0];
    const literal = value.slice(at, next?.index);
    if (literal !== '') parts.push(literal);
    if (next === undefined) return parts;
    const start = next.index + next.form.prefix.length;
    const end = value.indexOf('}', start);
    const name = end < 0 ? '' : value.slice(start, end);
    if (name.trim() === '' || name.includes('${')) return undefined;
    if (next.form.kind === 'identity') parts.push({ kind: 'identity', name });
    else {
      const secret = name.trim().toLowerCase();
      if (!SECRET_NAME.test(secret) || secret.startsWith('sec_')) return undefined;
      parts.push({ kind: 'secret', name: secret });
    }
    at = end + 1;
  }
}

/** The placeholders of a header value, from left to right; undefined when one is malformed. */
export function placeholdersOf(value: string): Placeholder[] | undefined {
  return parseHeaderValue(value)?.filter((part) => typeof part !== 'string');
}

import { type Placeholder, parseHeaderValue, type ValuePart } from '@svc/network-policy';
import type { Questions } from '../control/questions.js';
import type { EgressSandbox } from '../control/types.js';
import { encodeCredentials } from '../http/headers.js';

/** Characters that may stand in a header value; a value that would begin another line does not. */
const FIELD = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Gives the headers of a rule with their placeholders replaced.
 * @throws {Error} when one is unknown, revoked or no header value; the error says nothing of it
 */
export async function resolveHeaders(
  headers: Readonly<Record<string, string>>,
  about: { sandbox: EgressSandbox; host: string; questions: Questions },
): Promise<[string, string][]> {
  const parsed = Object.entries(headers).map(([name, value]) => ({ name, parts: parseHeaderValue(value) }));
  const wanted = new Map<string, Placeholder>();
  for (const { parts } of parsed) {
    if (parts === undefined) throw new Error('malformed');
    for (const part of parts) if (typeof part !== 'string') wanted.set(keyOf(part), part);
  }
  const placeholders = [...wanted.values()];
  const values =
    placeholders.length === 0
      ? []
      : await about.questions.placeholders(about.sandbox, about.host, placeholders);
  const byKey = new Map(placeholders.map((each, index) => [keyOf(each), values[index]!]));
  return parsed.map(({ name, parts }) => {
    const value = parts!.map((part) => fill(part, byKey)).join('');
    if (!FIELD.test(value)) throw new Error('not a header value');
    return [name, encodeCredentials(name, value)];
  });
}

function fill(part: ValuePart, values: ReadonlyMap<string, string>): string {
  return typeof part === 'string' ? part : values.get(keyOf(part))!;
}

function keyOf({ kind, name }: Placeholder): string {
  return `${kind} ${name}`;
}

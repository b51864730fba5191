/** What lies deeper is nothing that the document knows. */
const MAX_DEPTH = 50;

/**
 * Where a text with a NUL character is, as in `body.metadata.a`; undefined when there is none. PostgreSQL cannot keep
 * one, and no name, path, variable or command may have one.
 */
export function findNul(value: unknown, place: string, depth = 0): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? place : undefined;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('\0')) return place;
    const found = findNul(inner, `${place}.${key}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

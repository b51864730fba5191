/** A value that cannot stand in a path. The request was not sent. */
export class PathParameterError extends TypeError {
  override readonly name = 'PathParameterError';
}

/**
 * Fills a path template such as `/sandboxes/{sandboxID}`. Every value becomes exactly one segment: `a/b` is sent as
 * `a%2Fb`, `a%2Fb` as `a%252Fb`.
 *
 * @throws PathParameterError for values that would reach another resource: empty, `.`, `..`, absent, or not a string or number.
 */
export function serializePath(template: string, values: Record<string, unknown>): string {
  return template.replace(/\{([^{}]+)\}/g, (_, name: string) => serializeSegment(name, values[name]));
}

function serializeSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new PathParameterError(
      `Path parameter "${name}" must be a string, got ${value === null ? 'null' : typeof value}`,
    );
  }
  const segment = String(value);
  if (segment === '' || segment === '.' || segment === '..') {
    throw new PathParameterError(
      `Path parameter "${name}" must not be "${segment}": the request would reach another resource`,
    );
  }
  try {
    return encodeURIComponent(segment);
  } catch {
    throw new PathParameterError(`Path parameter "${name}" is not well-formed Unicode`);
  }
}

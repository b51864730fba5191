import { errors } from './errors/catalog.js';
import type { RouteEntry } from './route-table.js';

/** Finds the operation that a request means, and the values in its path. @throws {ApiError} 400 for a path that cannot be decoded */
export function matchRoute<Id extends string>(
  routes: readonly RouteEntry<Id>[],
  method: string,
  pathname: string,
): { route: RouteEntry<Id>; params: Record<string, string> } | undefined {
  const segments = pathname.split('/');
  for (const route of routes) {
    const wanted = route.path.split('/');
    if (route.method !== method || wanted.length !== segments.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((part, index) => {
      const segment = segments[index] ?? '';
      if (!part.startsWith('{')) return part === segment;
      params[part.slice(1, -1)] = decode(segment);
      return segment !== '';
    });
    if (fits) return { route, params };
  }
  return undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw errors.validation('the path is not valid');
  }
}

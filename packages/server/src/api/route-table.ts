import { type OperationRules, operatorRules, platformRules } from '@svc/platform/rules';
import { type OpenApiDocument, type OperationObject, type ParameterObject, resolve } from './document.js';
import { errors } from './errors/catalog.js';
import type { OperationId, OperatorOperationId } from './operations.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation of the document, ready to be routed. */
export interface RouteEntry<Id extends string = string> {
  operationId: Id;
  method: Method;
  /** As in the document: `/sandboxes/{sandboxID}`. */
  path: string;
  operation: OperationObject<Id>;
  parameters: ParameterObject[];
  /** False: no credential is asked for. */
  secured: boolean;
  deprecated: boolean;
  /** Content types of the body; empty when there is none. */
  bodyTypes: string[];
  bodyRequired: boolean;
  /** The resource that decides on its node: the sandbox that it acts on, room for a new one, the volume; undefined: any node. */
  runsOn: 'sandbox' | 'placement' | 'volume' | undefined;
  /** An `Idempotency-Key` makes it safe to repeat. */
  idempotent: boolean;
  rules: OperationRules;
}

const METHODS: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The routes of a document. @param rules of its operations, as they were generated from it */
function readRoutes<Id extends string>(
  document: OpenApiDocument<Id>,
  rules: Readonly<Record<Id, OperationRules>>,
): RouteEntry<Id>[] {
  const routes: RouteEntry<Id>[] = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method.toLowerCase()] as OperationObject<Id> | undefined;
      if (operation === undefined) continue;
      const parameters = [
        ...((item.parameters as ParameterObject[]) ?? []),
        ...(operation.parameters ?? []),
      ].map((parameter) => resolve<ParameterObject>(document, parameter));
      const body =
        operation.requestBody === undefined
          ? undefined
          : resolve<{ required?: boolean; content: Record<string, unknown> }>(
              document,
              operation.requestBody,
            );
      const secured = (operation.security ?? document.security ?? []).length > 0;
      routes.push({
        operationId: operation.operationId,
        method,
        path,
        operation,
        parameters,
        secured,
        deprecated: operation.deprecated === true,
        bodyTypes: Object.keys(body?.content ?? {}),
        bodyRequired: body?.required === true,
        runsOn: rules[operation.operationId].runsOn ?? (path.includes('{sandboxID}') ? 'sandbox' : undefined),
        idempotent: parameters.some(({ name }) => name === 'Idempotency-Key'),
        rules: rules[operation.operationId],
      });
    }
  }
  return routes;
}

export const platformRoutes = (document: OpenApiDocument<OperationId>) => readRoutes(document, platformRules);

export const operatorRoutes = (document: OpenApiDocument<OperatorOperationId>) =>
  readRoutes(document, operatorRules);

/** Returns whether the body of an operation is a file, read as it comes. */
export function takesFiles(route: RouteEntry): boolean {
  return route.bodyTypes.length > 0 && !route.bodyTypes.includes('application/json');
}

/** `/sandboxes/{sandboxID}` as the router writes it. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{([^}]+)\}/g, ':$1');
}

/** Removed operations: they answer as if they had never been, not as a known path with another method. */
const REMOVED: readonly { method: string; path: string }[] = [
  { method: 'POST', path: '/templates' },
  { method: 'POST', path: '/v2/templates' },
  { method: 'POST', path: '/templates/{templateID}' },
  { method: 'POST', path: '/templates/{templateID}/builds/{buildID}' },
];

export function isRemoved(method: string, pathname: string): boolean {
  const segments = pathname.split('/');
  return REMOVED.some((gone) => gone.method === method && fits(gone.path, segments));
}

/** Returns whether a path of the document is that of a request. */
function fits(path: string, segments: string[]): boolean {
  const wanted = path.split('/');
  return (
    wanted.length === segments.length &&
    wanted.every((part, index) => (part.startsWith('{') ? segments[index] !== '' : part === segments[index]))
  );
}

/** Returns the methods that a path answers to: none means that the path is unknown. */
export function allowedMethods(routes: readonly RouteEntry[], pathname: string): Method[] {
  const segments = pathname.split('/');
  const methods = routes.filter((route) => fits(route.path, segments)).map((route) => route.method);
  return [...new Set(methods)];
}

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

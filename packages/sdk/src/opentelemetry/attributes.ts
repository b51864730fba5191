import type { Attributes } from '@opentelemetry/api';
import type { OperationStart } from '../core/telemetry.js';
import { SvcError } from '../errors/svc-error.js';

/** Longest value that is recorded, characters. */
const longestValue = 1024;

/** A value of somebody else's, of bounded length. */
export function bounded(text: string): string {
  return text.length > longestValue ? text.slice(0, longestValue) : text;
}

/** The name of an operation as spans and metrics carry it: calls of the generated client are named after their path. */
export function nameOf(operation: string): string {
  return /^[A-Z]+ \//.test(operation) ? 'platform.request' : operation;
}

/** Returns the attributes that are known when an operation begins. */
export function startAttributes(start: OperationStart, commandLine: boolean): Attributes {
  const line = start.process?.line;
  return {
    'svc.operation': nameOf(start.operation),
    'svc.service': start.service,
    ...present('svc.sandbox.id', start.sandboxId),
    ...present('svc.template.id', start.templateId),
    ...present('process.command_line', commandLine ? line : undefined),
  };
}

/** Where a request goes: never its path or query, which name files and hold signatures. */
export function requestAttributes(method: string, url: string): Attributes {
  const { hostname, port, protocol, pathname } = new URL(url);
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    ...idInPath(pathname),
  };
}

/** Ids by the name of their resource in a path of the platform. */
const resources: Record<string, string> = {
  sandboxes: 'svc.sandbox.id',
  templates: 'svc.template.id',
  volumes: 'svc.volume.id',
};

function idInPath(path: string): Attributes {
  const found = /^\/(?:v\d+\/)?(sandboxes|templates|volumes)\/([a-z0-9][a-z0-9-]{7,63})(?:\/|$)/i.exec(path);
  const name = resources[found?.[1] ?? ''];
  return name === undefined ? {} : { [name]: found?.[2] as string };
}

/** Ids in an answer of the platform; nothing else of it. */
export function answerAttributes(data: unknown): Attributes {
  if (typeof data !== 'object' || data === null) return {};
  if (Array.isArray(data)) return { 'svc.result.count': data.length };
  const { sandboxID, templateID, buildID } = data as Record<string, unknown>;
  return {
    ...present('svc.sandbox.id', sandboxID),
    ...present('svc.template.id', templateID),
    ...present('svc.build.id', buildID),
  };
}

/** A short word for why something failed. Messages are not recorded: they quote command lines and output. */
export function errorType(error: unknown, aborted: boolean): string {
  if (aborted) return 'aborted';
  if (SvcError.is(error)) return bounded(error.code);
  return error instanceof Error ? bounded(error.name) : typeof error;
}

function present(name: string, value: unknown): Attributes {
  return typeof value === 'string' && value !== '' ? { [name]: bounded(value) } : {};
}

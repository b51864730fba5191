import type { CallContext } from '../core/call-context.js';
import { errorFromAnswer } from '../errors/from-answer.js';
import { readText } from './read-text.js';

/** An answer as the generated clients return it. */
export interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** Fields of a call by which a failed answer is explained. */
type Asked = Pick<CallContext, 'operation' | 'service' | 'resource'>;

/** The data of a good answer of a generated client. @throws the error of the table for another one */
export function readAnswer<Data>(
  { data, error, response }: Answer<Data>,
  asked: Asked,
): Exclude<Data, undefined> {
  if (response.ok) return data as Exclude<Data, undefined>;
  throw errorFor(response, error, asked);
}

/** @throws the error of the table for an answer that is not a good one */
export async function throwUnlessOk(response: Response, asked: Asked): Promise<void> {
  if (response.ok) return;
  throw errorFor(response, parse(await readText(response, asked.operation).catch(() => '')), asked);
}

function errorFor({ status, headers }: Response, body: unknown, { operation, service, resource }: Asked) {
  return errorFromAnswer({ status, headers, body, operation, service, resource, nowMs: Date.now() });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

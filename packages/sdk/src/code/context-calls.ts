import type { RequestOptions } from '../core/call-context.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { unlessMissing } from '../errors/unless-missing.js';
import type { CodeContext, CodeLanguage } from './execution.js';
import { callInterpreter, type InterpreterRoute, readAnswer } from './interpreter-calls.js';
import { toContext } from './wire.js';

/** Settings of a new context. */
export interface CreateCodeContextOptions extends RequestOptions {
  /** Default `python`. */
  language?: CodeLanguage | undefined;
  /** Working directory of its cells; it must exist. Default: the user's home. */
  cwd?: string | undefined;
}

export async function createContext(
  route: InterpreterRoute,
  options: CreateCodeContextOptions,
): Promise<CodeContext> {
  const operation = 'codeContexts.create';
  const { language, cwd } = options;
  const call = { operation, method: 'POST', path: '/contexts', options } as const;
  return readAnswer(await callInterpreter(route, { ...call, body: { language, cwd } }), operation, toContext);
}

export async function listContexts(route: InterpreterRoute, options: RequestOptions): Promise<CodeContext[]> {
  const operation = 'codeContexts.list';
  const call = { operation, method: 'GET', path: '/contexts', options } as const;
  return readAnswer(await callInterpreter(route, call), operation, (value) => {
    if (!Array.isArray(value)) throw new Error('the contexts are no list');
    return value.map(toContext);
  });
}

export async function restartContext(
  route: InterpreterRoute,
  context: CodeContext | string,
  options: RequestOptions,
): Promise<void> {
  const operation = 'codeContexts.restart';
  const path = `${pathOf(context, operation)}/restart`;
  await settle(await callInterpreter(route, { operation, method: 'POST', path, options }));
}

export async function deleteContext(
  route: InterpreterRoute,
  context: CodeContext | string,
  options: RequestOptions,
): Promise<boolean> {
  const operation = 'codeContexts.delete';
  const path = pathOf(context, operation);
  const gone = callInterpreter(route, { operation, method: 'DELETE', path, options });
  return (await unlessMissing(gone.then(settle))) ?? false;
}

function pathOf(context: CodeContext | string, operation: string): string {
  const id = typeof context === 'string' ? context : context.id;
  if (/^[\w-]+$/.test(id)) return `/contexts/${id}`;
  throw new InvalidRequestError(`${operation}: ${JSON.stringify(id)} is not the id of a context.`, {
    operation,
  });
}

async function settle(response: Response): Promise<true> {
  await response.body?.cancel();
  return true;
}

import type { RequestOptions } from '../core/call-context.js';
import {
  type CreateCodeContextOptions,
  createContext,
  deleteContext,
  listContexts,
  restartContext,
} from './context-calls.js';
import type { CodeContext, Execution } from './execution.js';
import type { InterpreterRoute } from './interpreter-calls.js';
import { type RunCodeOptions, runCode } from './run-code.js';

/** Calls to the interpreter server of a sandbox. Loaded when it is first used. */
export interface Interpreter {
  runCode(code: string, options: RunCodeOptions): Promise<Execution>;
  createContext(options: CreateCodeContextOptions): Promise<CodeContext>;
  listContexts(options: RequestOptions): Promise<CodeContext[]>;
  restartContext(context: CodeContext | string, options: RequestOptions): Promise<void>;
  deleteContext(context: CodeContext | string, options: RequestOptions): Promise<boolean>;
}

/** The interpreter server of a sandbox. Nothing is sent. */
export function openInterpreter(route: InterpreterRoute): Interpreter {
  return {
    runCode: (code, options) => runCode(route, code, options),
    createContext: (options) => createContext(route, options),
    listContexts: (options) => listContexts(route, options),
    restartContext: (context, options) => restartContext(route, context, options),
    deleteContext: (context, options) => deleteContext(route, context, options),
  };
}

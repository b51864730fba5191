import type { RequestOptions } from '../core/call-context.js';
import type { CreateCodeContextOptions } from './context-calls.js';
import type { CodeContext } from './execution.js';
import type { Interpreter } from './interpreter.js';

/** The contexts of a sandbox's code interpreter: kernels that know nothing of each other's variables. */
export class CodeContexts {
  readonly #load: () => Promise<Interpreter>;

  /** @internal */
  constructor(load: () => Promise<Interpreter>) {
    this.#load = load;
  }

  /**
   * Starts a kernel of its own.
   * @throws InvalidRequestError for a directory that does not exist, RateLimitError for more than 64 contexts,
   *   ConflictError when the sandbox has no code interpreter
   * @example
   * const context = await sandbox.codeContexts.create({ language: 'javascript', cwd: '/tmp' });
   * await sandbox.runCode('const x = 1', { context });
   * @wire interpreter POST /contexts
   */
  async create(options: CreateCodeContextOptions = {}): Promise<CodeContext> {
    return (await this.#load()).createContext(options);
  }

  /**
   * Lists the contexts, those that serve cells without one included.
   * @example
   * for (const { id, language } of await sandbox.codeContexts.list()) console.log(id, language);
   * @wire interpreter GET /contexts
   */
  async list(options: RequestOptions = {}): Promise<CodeContext[]> {
    return (await this.#load()).listContexts(options);
  }

  /**
   * Gives a context a new kernel: its variables are lost, and a cell that runs in it ends.
   * @throws NotFoundError
   * @example
   * for (const context of await sandbox.codeContexts.list()) await sandbox.codeContexts.restart(context);
   * @wire interpreter POST /contexts/{id}/restart
   */
  async restart(context: CodeContext | string, options: RequestOptions = {}): Promise<void> {
    return (await this.#load()).restartContext(context, options);
  }

  /**
   * Ends a context and its kernel. False when there was none.
   * @example
   * const context = await sandbox.codeContexts.create();
   * await sandbox.codeContexts.delete(context);
   * @wire interpreter DELETE /contexts/{id}
   */
  async delete(context: CodeContext | string, options: RequestOptions = {}): Promise<boolean> {
    return (await this.#load()).deleteContext(context, options);
  }
}

import {
  CommandTimeoutError,
  FileNotFoundError,
  InvalidRequestError,
  PermissionError,
  type Sandbox,
} from '@svc/sdk';
import {
  BaseSandbox,
  type ExecuteResponse,
  type FileDownloadResponse,
  type FileOperationError,
  type FileUploadResponse,
} from 'deepagents';
import { readBytes } from '../tools/read-text.js';

/** Output that is kept of a command, bytes. */
const KEPT_BYTES = 1024 * 1024;
/** Largest file that is read, bytes: what is in a sandbox may be anybody's. */
const MOST_READ = 256 * 1024 * 1024;

/** Options of a deep agent's sandbox. */
export interface SandboxBackendOptions {
  /** Longest time of one command, ms; then it is killed. Default 10 minutes. */
  readonly timeoutMs?: number | undefined;
  /** User inside, for commands and files. Default: the sandbox's, who may write to the home and to `/tmp`. */
  readonly user?: string | undefined;
  /** Kills what runs. Deep agents pass none to backends: give the one that you give to `invoke`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A sandbox as the backend of a deep agent: its file tools and `execute` then work in it. The sandbox stays yours to kill.
 * @example
 * const sandbox = await Sandbox.create();
 * const agent = createDeepAgent({ model, backend: new SandboxBackend(sandbox), systemPrompt: 'Work in /home/user.' });
 */
export class SandboxBackend extends BaseSandbox {
  readonly id: string;
  readonly #sandbox: Sandbox;
  readonly #options: SandboxBackendOptions;

  constructor(sandbox: Sandbox, options: SandboxBackendOptions = {}) {
    super();
    this.id = sandbox.id;
    this.#sandbox = sandbox;
    this.#options = options;
  }

  /** Runs a command line of bash; its two streams come as one, in order. Of more than 1 MiB the end is kept. */
  async execute(command: string): Promise<ExecuteResponse> {
    const { timeoutMs = 600_000, user, signal } = this.#options;
    const options = { timeoutMs, user, signal, check: false, keepOutputBytes: KEPT_BYTES };
    try {
      const result = await this.#sandbox.commands.run(`exec 2>&1\n${command}`, options);
      return { output: result.stdout, exitCode: result.exitCode, truncated: result.truncated ?? false };
    } catch (error) {
      if (!CommandTimeoutError.is(error)) throw error;
      const output = `${error.stdout}\nKilled: it ran longer than ${timeoutMs / 1000} s.`;
      return { output, exitCode: null, truncated: false };
    }
  }

  /** Writes files, and the folders above them. Those that cannot be written say why, the others are written. */
  uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return Promise.all(
      files.map(async ([path, data]) => {
        const error = await this.#attempt(path, async (call) => {
          await this.#sandbox.files.write(path, data, call);
        });
        return { path, error };
      }),
    );
  }

  /** Reads files of 256 MiB at most. Those that cannot be read say why, the others are read. */
  downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return Promise.all(
      paths.map(async (path) => {
        let content: Uint8Array | null = null;
        const error = await this.#attempt(path, async (call) => {
          content = await readBytes(this.#sandbox, path, { ...call, mostBytes: MOST_READ });
        });
        return { path, content, error };
      }),
    );
  }

  /** @throws what is not about the file, such as a sandbox that is deleted */
  async #attempt(
    path: string,
    act: (call: Pick<SandboxBackendOptions, 'user' | 'signal'>) => Promise<void>,
  ): Promise<FileOperationError | null> {
    const { user, signal } = this.#options;
    try {
      await act({ user, signal });
      return null;
    } catch (error) {
      if (FileNotFoundError.is(error)) return 'file_not_found';
      if (PermissionError.is(error)) return 'permission_denied';
      if (!InvalidRequestError.is(error)) throw error;
      const entry = await this.#sandbox.files.stat(path, { user, signal }).catch(() => undefined);
      return entry?.type === 'directory' ? 'is_directory' : 'invalid_path';
    }
  }
}

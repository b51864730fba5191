import { type FileEntry, type Files, InvalidRequestError, type Sandbox } from '@svc/sdk';
import type { Experimental_SandboxSession as SandboxSession } from 'ai';
import { unlessNotFound } from '../unless-not-found.js';

const DESCRIPTION = `An isolated Linux sandbox with bash. Relative paths start at the home directory. Files, packages and background
programs stay between commands.`;

/** Options for describing a sandbox. */
export interface SandboxSessionOptions {
  /** The description of the sandbox in the model's instructions. Default: that it is an isolated Linux with bash. */
  readonly description?: string | undefined;
}

/**
 * A sandbox as `experimental_sandbox` of `generateText`, `streamText` and agents of the Vercel AI SDK: tools that are written for that
 * interface then work in it. The sandbox stays yours to kill.
 * @example
 * const sandbox = await Sandbox.create();
 * await generateText({ model, tools, prompt, experimental_sandbox: createSandboxSession(sandbox) });
 */
export function createSandboxSession(
  sandbox: Sandbox,
  { description = DESCRIPTION }: SandboxSessionOptions = {},
): SandboxSession {
  const { files, commands } = sandbox;

  const readBinaryFile: SandboxSession['readBinaryFile'] = ({ path, abortSignal: signal }) =>
    unlessNotFound(files.read(path, { format: 'bytes', signal }));

  const write = async (path: string, data: Parameters<typeof files.write>[1], signal?: AbortSignal) => {
    await files.write(path, data, { signal });
  };

  async function spawn(options: Parameters<SandboxSession['spawn']>[0]) {
    const { command: line, workingDirectory: cwd, env: envs, abortSignal: signal, stdin = false } = options;
    const command = await commands.start(line, { cwd, envs, signal, stdin });
    return {
      pid: command.pid,
      stdout: command.stdout,
      stderr: command.stderr,
      ...(stdin ? { stdin: command.stdin as WritableStream<Uint8Array> } : {}),
      wait: async () => ({ exitCode: (await command.wait({ check: false })).exitCode }),
      kill: async () => void (await command.kill()),
    };
  }

  return {
    description,
    readBinaryFile,
    readFile: ({ path, abortSignal: signal }) =>
      unlessNotFound(files.read(path, { format: 'stream', signal })),
    async readTextFile({ path, encoding = 'utf-8', startLine, endLine, abortSignal: signal }) {
      const bytes = await readBinaryFile({ path, ...(signal ? { abortSignal: signal } : {}) });
      if (bytes === null) return null;
      const text = new TextDecoder(encoding).decode(bytes);
      if (startLine === undefined && endLine === undefined) return text;
      return text
        .split('\n')
        .slice((startLine ?? 1) - 1, endLine)
        .join('\n');
    },
    writeFile: ({ path, content, abortSignal }) => write(path, content, abortSignal),
    writeBinaryFile: ({ path, content, abortSignal }) => write(path, content, abortSignal),
    writeTextFile({ path, content, encoding = 'utf-8', abortSignal }) {
      if (!Buffer.isEncoding(encoding))
        throw new InvalidRequestError(`writeTextFile: the encoding ${encoding} is not known. Use utf-8.`);
      return write(path, Buffer.from(content, encoding), abortSignal);
    },
    async stat({ path, abortSignal: signal }) {
      const entry = await unlessNotFound(followed(files, path, signal));
      return entry && { type: kindOf(entry.type), size: entry.sizeBytes };
    },
    async listDirectory({ path, abortSignal: signal }) {
      const entries = await unlessNotFound(files.list(path, { signal }));
      if (entries === null) return null;
      return entries.map(({ name, type, symlinkTarget }) => ({
        name,
        type: symlinkTarget === undefined ? kindOf(type) : 'symlink',
      }));
    },
    async deleteFile({ path, abortSignal: signal }) {
      const entry = await unlessNotFound(files.stat(path, { signal }));
      if (entry === null) return false;
      if (entry.type === 'directory' && entry.symlinkTarget === undefined)
        throw new InvalidRequestError(`deleteFile: ${path} is a directory.`);
      await files.remove(path, { signal });
      return true;
    },
    spawn: spawn as SandboxSession['spawn'],
    async run({ command, workingDirectory: cwd, env: envs, abortSignal: signal }) {
      const options = { cwd, envs, signal, check: false, timeoutMs: 0 };
      const { exitCode, stdout, stderr } = await commands.run(command, options);
      return { exitCode, stdout, stderr };
    },
  };
}

/** Returns the entry at a path, or the one where the link there leads. @throws FileNotFoundError also for a link to nothing */
async function followed(files: Files, path: string, signal?: AbortSignal): Promise<FileEntry> {
  const entry = await files.stat(path, { signal });
  return entry.symlinkTarget === undefined ? entry : files.stat(entry.symlinkTarget, { signal });
}

const kindOf = (type: 'file' | 'directory' | 'unknown') => (type === 'unknown' ? 'other' : type);

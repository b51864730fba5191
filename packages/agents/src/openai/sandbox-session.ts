import type { ToolOutputImage } from '@openai/agents';
import {
  type ExecCommandArgs,
  Manifest,
  type SandboxExecResult,
  type SandboxSession,
} from '@openai/agents/sandbox';
import { CommandTimeoutError, type Sandbox } from '@svc/sdk';
import { imageTypeOf } from '../tools/image-type.js';
import { readBytes } from '../tools/read-text.js';
import { shorten } from '../tools/shorten.js';
import { unlessNotFound } from '../unless-not-found.js';
import { sandboxEditor } from './sandbox-editor.js';

/** Characters of a token, about. */
const TOKEN = 4;
const MOST_TOKENS = 4_000;
/** Output that is kept of a command, bytes. */
const KEPT_BYTES = 1024 * 1024;

/** Options of a sandbox agent's sandbox. */
export interface SandboxSessionOptions {
  /** Longest time of one command, ms; then it is killed. Default 60 000. */
  readonly timeoutMs?: number | undefined;
  /** Kills what runs. The SDK passes none to sessions: give the one that you give to `run`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A sandbox as the session of a `SandboxAgent`: its capabilities for shell and files then work in it. The sandbox stays yours to kill.
 * Commands run to their end; there is no terminal to write to later.
 * @example
 * const sandbox = await Sandbox.create();
 * const session = await createSandboxSession(sandbox);
 * const agent = new SandboxAgent({ name: 'Coder', capabilities: [shell(), filesystem()] });
 * await run(agent, 'Which primes are below 30?', { sandbox: { session } });
 */
export async function createSandboxSession(
  sandbox: Sandbox,
  { timeoutMs = 60_000, signal }: SandboxSessionOptions = {},
): Promise<SandboxSession> {
  const { files, commands } = sandbox;
  const { stdout: root } = await commands.run('printf %s "$PWD"', { signal });

  async function exec(args: ExecCommandArgs): Promise<SandboxExecResult> {
    const begun = performance.now();
    const most = (args.maxOutputTokens ?? MOST_TOKENS) * TOKEN;
    const tell = (stdout: string, stderr: string, exitCode: number | null, more = ''): SandboxExecResult => ({
      stdout,
      stderr,
      exitCode,
      output: shorten(`${stdout}${stderr}${more}`, Math.ceil(most / 4), Math.floor((most * 3) / 4)),
      wallTimeSeconds: (performance.now() - begun) / 1000,
    });
    try {
      const options = {
        cwd: args.workdir ?? root,
        user: args.runAs,
        timeoutMs,
        signal,
        check: false,
        keepOutputBytes: KEPT_BYTES,
      };
      const { stdout, stderr, exitCode } = await commands.run(args.cmd, options);
      return tell(stdout, stderr, exitCode);
    } catch (error) {
      if (!CommandTimeoutError.is(error)) throw error;
      return tell(error.stdout, error.stderr, null, `\nKilled: it ran longer than ${timeoutMs / 1000} s.`);
    }
  }

  const typeAt = async (path: string, user?: string) =>
    (await unlessNotFound(files.stat(path, { user, signal })))?.type;

  return {
    state: { manifest: new Manifest({ root }) },
    exec,
    async execCommand(args) {
      const { exitCode, output } = await exec(args);
      return `${exitCode === null ? '' : `Process exited with code ${exitCode}\n`}Output:\n${output}`;
    },
    supportsPty: () => false,
    createEditor: () => sandboxEditor(sandbox),
    readFile: ({ path, runAs: user, maxBytes }) =>
      readBytes(sandbox, path, { user, signal, ...(maxBytes === undefined ? {} : { mostBytes: maxBytes }) }),
    async listDir({ path, runAs: user }) {
      const entries = await files.list(path, { user, signal });
      return entries.map(({ name, path, type }) => ({
        name,
        path,
        type: type === 'directory' ? 'dir' : 'file',
      }));
    },
    pathExists: async (path, user) => (await typeAt(path, user)) !== undefined,
    directoryExists: async (path, user) => (await typeAt(path, user)) === 'directory',
    async viewImage({ path, runAs: user }): Promise<ToolOutputImage> {
      const mediaType = imageTypeOf(path);
      if (mediaType === undefined)
        throw new Error(`${path} is an unsupported image format: use PNG, JPEG, GIF or WebP.`);
      const data = (await readBytes(sandbox, path, { user, signal })).toString('base64');
      return { type: 'image', image: { data, mediaType } };
    },
    async resolveExposedPort(port) {
      const url = sandbox.url(port);
      const { hostname, port: at, protocol } = new URL(url);
      const tls = protocol === 'https:';
      return { host: hostname, port: Number(at) || (tls ? 443 : 80), tls, url };
    },
  };
}

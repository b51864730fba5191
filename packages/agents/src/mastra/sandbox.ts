import { randomUUID } from 'node:crypto';
import { MastraSandbox, type ProviderStatus } from '@mastra/core/workspace';
import type { Sandbox } from '@svc/sdk';
import { defaultSandbox } from '../default-sandbox.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { SandboxProcesses } from './processes.js';

/**
 * A sandbox of a workspace of Mastra: commands, background processes, addresses of ports.
 * @example
 * const sandboxes = new ToolSandboxes({ client: new Client() });
 * const workspace = new Workspace({ sandbox: new SvcSandbox(sandboxes), filesystem: new SvcFilesystem(sandboxes) });
 * const agent = new Agent({ id: 'coder', name: 'Coder', instructions: 'You write programs.', model, workspace });
 */
export class SvcSandbox extends MastraSandbox {
  readonly id: string;
  readonly name = 'SvcSandbox';
  readonly provider = 'svc';
  status: ProviderStatus = 'pending';
  override readonly networking;
  readonly #source: Sandbox | ToolSandboxes;

  /**
   * @param source one sandbox, which stays yours to kill, or the sandboxes of one agent, of which the default one is used; it is made
   * with the first command, and `destroy` kills it
   */
  constructor(source: Sandbox | ToolSandboxes) {
    super({ name: 'SvcSandbox', processes: new SandboxProcesses(source) });
    this.#source = source;
    this.id = 'several' in source ? `svc-${randomUUID()}` : source.id;
    this.networking = {
      getPortUrl: async (port: number) => (await defaultSandbox(source)).url(port),
    };
  }

  override async start(): Promise<void> {
    await defaultSandbox(this.#source);
  }

  override async destroy(): Promise<void> {
    if ('several' in this.#source) await this.#source.close();
  }

  override async writeFiles(
    files: { path: string; content: string | Buffer; mode?: number }[],
    { abortSignal: signal }: { abortSignal?: AbortSignal } = {},
  ): Promise<void> {
    const sandbox = await defaultSandbox(this.#source);
    const data = files.map(({ path, content }) => ({ path, data: content }));
    await sandbox.files.writeMany(data, { signal });
    for (const { path, mode } of files)
      if (mode !== undefined)
        await sandbox.commands.run(`chmod ${mode.toString(8)} -- "$P"`, { envs: { P: path }, signal });
  }

  override getInstructions(): string {
    return 'Commands run with bash in an isolated Linux sandbox. Relative paths start at the home directory.';
  }
}

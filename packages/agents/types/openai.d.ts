// The parts that src/openai uses of the OpenAI Agents SDK, which is not installed with the workspace. The tests of the adapter check it against the
// SDK's own types.
declare module '@openai/agents' {
  export interface FunctionTool<Context, Parameters, Result> {
    readonly type: 'function';
    readonly name: string;
    readonly generics?: [Context, Parameters, Result];
  }
  export function tool(options: {
    name: string;
    description: string;
    parameters: never;
    strict: false;
    execute(input: unknown, context: unknown, details?: { signal?: AbortSignal }): Promise<unknown>;
    // biome-ignore lint/suspicious/noExplicitAny: as there
  }): FunctionTool<any, any, any>;
  export interface Shell {
    run(action: { commands: string[]; timeoutMs?: number; maxOutputLength?: number }): Promise<{
      output: ShellOutputResult[];
      maxOutputLength?: number;
    }>;
  }
  export interface ShellOutputResult {
    stdout: string;
    stderr: string;
    outcome: { type: 'timeout' } | { type: 'exit'; exitCode: number | null };
  }
  export interface ApplyPatchResult {
    status?: 'completed' | 'failed';
    output?: string;
  }
  export interface Editor {
    createFile(operation: { path: string; diff: string }): Promise<ApplyPatchResult>;
    updateFile(operation: { path: string; diff: string; moveTo?: string }): Promise<ApplyPatchResult>;
    deleteFile(operation: { path: string }): Promise<ApplyPatchResult>;
  }
  export interface ToolOutputImage {
    type: 'image';
    image?: { data: string; mediaType: string };
  }
  export function applyDiff(input: string, diff: string, mode?: 'default' | 'create'): string;
}

declare module '@openai/agents/sandbox' {
  import type { Editor, ToolOutputImage } from '@openai/agents';

  export class Manifest {
    constructor(fields: { root: string });
  }
  export interface ExecCommandArgs {
    cmd: string;
    workdir?: string;
    maxOutputTokens?: number;
    runAs?: string;
  }
  export interface SandboxExecResult {
    output: string;
    stdout: string;
    stderr: string;
    wallTimeSeconds: number;
    exitCode?: number | null;
  }
  interface PathArgs {
    path: string;
    runAs?: string;
  }
  export interface SandboxSession {
    state: { manifest: Manifest };
    exec?(args: ExecCommandArgs): Promise<SandboxExecResult>;
    execCommand?(args: ExecCommandArgs): Promise<string>;
    supportsPty?(): boolean;
    createEditor?(runAs?: string): Editor;
    readFile?(args: PathArgs & { maxBytes?: number }): Promise<Uint8Array>;
    listDir?(args: PathArgs): Promise<{ name: string; path: string; type: 'file' | 'dir' | 'other' }[]>;
    pathExists?(path: string, runAs?: string): Promise<boolean>;
    directoryExists?(path: string, runAs?: string): Promise<boolean>;
    viewImage?(args: PathArgs): Promise<ToolOutputImage>;
    resolveExposedPort?(port: number): Promise<{ host: string; port: number; tls?: boolean; url?: string }>;
  }
}

// The parts that src/mastra uses of Mastra, which is not installed with the workspace. The tests of the adapter check it against Mastra's own types.
declare module '@mastra/core/tools' {
  // biome-ignore lint/suspicious/noExplicitAny: as there
  export interface Tool<Input = any, Output = any> {
    readonly id: string;
    readonly generics?: [Input, Output];
  }
  export function createTool(options: {
    id: string;
    description: string;
    inputSchema: never;
    execute(input: unknown, context: { abortSignal?: AbortSignal }): Promise<unknown>;
    toModelOutput(output: unknown): unknown;
  }): Tool;
}

declare module '@mastra/core/workspace' {
  export type ProviderStatus =
    | 'pending'
    | 'initializing'
    | 'ready'
    | 'starting'
    | 'running'
    | 'stopping'
    | 'stopped'
    | 'destroying'
    | 'destroyed'
    | 'error';
  export interface CommandResult {
    success: boolean;
    exitCode: number;
    stdout: string;
    stderr: string;
    executionTimeMs: number;
    timedOut?: boolean;
    killed?: boolean;
  }
  export interface SpawnProcessOptions {
    timeout?: number;
    env?: Record<string, string | undefined>;
    cwd?: string;
    onStdout?: (data: string) => void;
    onStderr?: (data: string) => void;
    abortSignal?: AbortSignal;
    maxRetainedBytes?: number;
    stdinMode?: 'pipe' | 'ignore';
  }
  export interface ProcessInfo {
    pid: string;
    command?: string;
    running: boolean;
    exitCode?: number;
  }
  export abstract class ProcessHandle {
    constructor(options?: SpawnProcessOptions);
    abstract readonly pid: string;
    abstract readonly exitCode: number | undefined;
    command?: string;
    readonly stdout: string;
    readonly stderr: string;
    emitStdout(data: string): void;
    emitStderr(data: string): void;
    abstract kill(): Promise<boolean>;
    abstract sendStdin(data: string): Promise<void>;
    closeStdin(): Promise<void>;
    wait(): Promise<CommandResult>;
  }
  export abstract class SandboxProcessManager {
    protected readonly _tracked: Map<string, ProcessHandle>;
    spawn(command: string, options?: SpawnProcessOptions): Promise<ProcessHandle>;
    list(): Promise<ProcessInfo[]>;
  }
  export abstract class MastraSandbox {
    constructor(options: { name: string; processes: SandboxProcessManager });
    abstract readonly id: string;
    abstract readonly name: string;
    abstract readonly provider: string;
    abstract status: ProviderStatus;
    readonly networking?: { getPortUrl(port: number): Promise<string | null> };
    start(options?: { abortSignal?: AbortSignal }): Promise<unknown>;
    destroy(): Promise<void>;
    getInstructions?(): string;
    writeFiles?(
      files: { path: string; content: string | Buffer; mode?: number }[],
      options?: { abortSignal?: AbortSignal },
    ): Promise<void>;
  }
  export interface FileStat {
    name: string;
    path: string;
    type: 'file' | 'directory';
    size: number;
    createdAt: Date;
    modifiedAt: Date;
  }
  export interface FileEntry {
    name: string;
    type: 'file' | 'directory';
    size?: number;
    isSymlink?: boolean;
    symlinkTarget?: string;
  }
  export interface ListOptions {
    recursive?: boolean;
    extension?: string | string[];
    maxDepth?: number;
  }
  export interface RemoveOptions {
    recursive?: boolean;
    force?: boolean;
  }
  export interface CopyOptions {
    overwrite?: boolean;
    recursive?: boolean;
  }
  export interface WriteOptions {
    recursive?: boolean;
    overwrite?: boolean;
    expectedMtime?: Date;
  }
  export abstract class MastraFilesystem {
    constructor(options: { name: string });
    abstract readonly id: string;
    abstract readonly name: string;
    abstract readonly provider: string;
    abstract status: ProviderStatus;
    abstract readFile(path: string, options?: { encoding?: BufferEncoding }): Promise<string | Buffer>;
    abstract writeFile(
      path: string,
      content: string | Buffer | Uint8Array,
      options?: WriteOptions,
    ): Promise<void>;
    abstract appendFile(path: string, content: string | Buffer | Uint8Array): Promise<void>;
    abstract deleteFile(path: string, options?: RemoveOptions): Promise<void>;
    abstract copyFile(from: string, to: string, options?: CopyOptions): Promise<void>;
    abstract moveFile(from: string, to: string, options?: CopyOptions): Promise<void>;
    abstract mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
    abstract rmdir(path: string, options?: RemoveOptions): Promise<void>;
    abstract readdir(path: string, options?: ListOptions): Promise<FileEntry[]>;
    abstract exists(path: string): Promise<boolean>;
    abstract stat(path: string): Promise<FileStat>;
  }
  export class FileNotFoundError extends Error {
    constructor(path: string);
  }
  export class DirectoryNotFoundError extends Error {
    constructor(path: string);
  }
  export class FileExistsError extends Error {
    constructor(path: string);
  }
  export class IsDirectoryError extends Error {
    constructor(path: string);
  }
  export class NotDirectoryError extends Error {
    constructor(path: string);
  }
  export class DirectoryNotEmptyError extends Error {
    constructor(path: string);
  }
  export class StaleFileError extends Error {
    constructor(path: string, expected: Date, actual: Date);
  }
}

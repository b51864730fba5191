// The parts that src/langchain and src/deepagents use of LangChain, which is not installed with the workspace. The tests of the adapters check it
// against LangChain's own types.
declare module '@langchain/core/tools' {
  export interface DynamicStructuredTool {
    readonly name: string;
  }
  export function tool(
    call: (
      input: unknown,
      config: { signal?: AbortSignal; toolCall?: { id?: string | undefined } },
    ) => Promise<unknown>,
    fields: { name: string; description: string; schema: never },
  ): DynamicStructuredTool;
}

declare module '@langchain/core/messages' {
  export class ToolMessage {
    constructor(fields: {
      name: string;
      tool_call_id: string;
      status: 'success' | 'error';
      content: ({ type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string })[];
    });
  }
}

declare module 'deepagents' {
  export interface ExecuteResponse {
    output: string;
    exitCode: number | null;
    truncated: boolean;
  }
  export type FileOperationError = 'file_not_found' | 'permission_denied' | 'is_directory' | 'invalid_path';
  export interface FileUploadResponse {
    path: string;
    error: FileOperationError | null;
  }
  export interface FileDownloadResponse extends FileUploadResponse {
    content: Uint8Array | null;
  }
  export abstract class BaseSandbox {
    abstract readonly id: string;
    abstract execute(command: string): Promise<ExecuteResponse>;
    abstract uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]>;
    abstract downloadFiles(paths: string[]): Promise<FileDownloadResponse[]>;
  }
}

import type { z } from 'zod';

/** A part of what a tool answers: text, or an image in base64. */
export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

/** The answer of a tool to the model. */
export interface ToolAnswer {
  readonly content: readonly ToolContent[];
  /** Present when what was asked for failed: the text says why, and what to do. */
  readonly isError?: true;
}

/** The effects of a tool, for those who decide if a person is asked before. */
export interface ToolEffects {
  /** True when it changes nothing. */
  readonly readOnly: boolean;
  /** True when it may delete or overwrite. */
  readonly destructive: boolean;
  /** True when doing it twice is the same as doing it once. */
  readonly idempotent: boolean;
  /** True when it may reach the world outside, as a program with internet access does. */
  readonly openWorld: boolean;
}

/** JSON Schema of an object. */
export interface ToolJsonSchema {
  readonly type: 'object';
  readonly properties: Record<string, Record<string, unknown>>;
  readonly required: string[];
  readonly additionalProperties: false;
}

/** Options of a call. */
export interface CallToolOptions {
  /** Ends the call; what it runs in the sandbox is killed. */
  readonly signal?: AbortSignal | undefined;
}

/** A tool that works in sandboxes, of no framework. */
export interface SandboxTool {
  readonly name: ToolName;
  /** For people. */
  readonly title: string;
  /** For the model. */
  readonly description: string;
  /** Its arguments. */
  readonly inputSchema: z.ZodObject;
  /** The same as JSON Schema. */
  readonly jsonSchema: ToolJsonSchema;
  readonly effects: ToolEffects;
  /**
   * Checks what the model gave, and does it. What fails is an answer with `isError`, so that the model can act on it.
   * @throws the signal's reason when it fires
   */
  call(input: unknown, options?: CallToolOptions): Promise<ToolAnswer>;
}

/** Names of all tools. */
export type ToolName =
  | 'run_command'
  | 'run_code'
  | 'read_file'
  | 'write_file'
  | 'edit_file'
  | 'list_files'
  | 'create_sandbox'
  | 'fork_sandbox'
  | 'kill_sandbox'
  | 'get_port_url';

import type { Sandbox } from '@svc/sdk';
import { z } from 'zod';
import { shorten } from './shorten.js';
import type { SandboxTool, ToolAnswer, ToolEffects, ToolJsonSchema, ToolName } from './tool.js';

/** Where tools work. */
export interface ToolTarget {
  /** The sandbox of an id that a model gave, or the default one. */
  use(id?: string): Promise<Sandbox>;
  /** True when there may be several: tools then take the id of one. */
  readonly several: boolean;
}

interface Definition<Shape extends z.ZodRawShape, Context> {
  readonly name: ToolName;
  readonly title: string;
  readonly description: string;
  readonly input: Shape;
  /** Without a word about them, a tool may do everything. */
  readonly effects?: Partial<ToolEffects>;
  run(input: z.output<z.ZodObject<Shape>>, context: Context): Promise<ToolAnswer>;
}

interface CallContext {
  readonly signal: AbortSignal | undefined;
}

/** Names a sandbox; where there may be several, every tool that works in one takes it. */
export const sandboxId = z
  .string()
  .min(1)
  .optional()
  .describe('Id of a sandbox from create_sandbox or fork_sandbox. Default: the default sandbox.');

/** Name or uid of a user inside. */
export const user = z
  .string()
  .optional()
  .describe('User inside the sandbox: "root" for all rights in it. Default: the ordinary user.');

export function text(...parts: string[]): ToolAnswer {
  return { content: parts.map((part) => ({ type: 'text', text: part })) };
}

/** Something that failed, as the model reads it. */
export function failure(message: string): ToolAnswer {
  return { ...text(message), isError: true };
}

/** Makes a tool of its definition. */
export function defineTool<Shape extends z.ZodRawShape>(
  definition: Definition<Shape, CallContext>,
): SandboxTool {
  const { name, title, description, effects = {}, run } = definition;
  const inputSchema = z.object(definition.input);
  const readOnly = effects.readOnly ?? false;
  return {
    name,
    title,
    description,
    inputSchema,
    jsonSchema: toJsonSchema(inputSchema),
    effects: { readOnly, destructive: !readOnly, idempotent: readOnly, openWorld: false, ...effects },
    async call(given, { signal } = {}) {
      signal?.throwIfAborted();
      const input = inputSchema.safeParse(given);
      if (!input.success) return failure(`${name} cannot take this:\n${z.prettifyError(input.error)}`);
      try {
        return await run(input.data, { signal });
      } catch (error) {
        signal?.throwIfAborted();
        return failure(shorten(error instanceof Error ? error.message : String(error)));
      }
    },
  };
}

/** Makes a tool that works in one sandbox; the model names which, where there may be several. */
export function defineSandboxTool<Shape extends z.ZodRawShape>(
  target: ToolTarget,
  { input, run, ...definition }: Definition<Shape, CallContext & { readonly sandbox: Sandbox }>,
): SandboxTool {
  const shape = target.several ? { ...input, sandbox: sandboxId } : input;
  return defineTool<z.ZodRawShape>({
    ...definition,
    input: shape,
    async run({ sandbox: id, ...given }, context) {
      const sandbox = await target.use(id as string | undefined);
      return run(given as z.output<z.ZodObject<Shape>>, { ...context, sandbox });
    },
  });
}

function toJsonSchema(schema: z.ZodObject): ToolJsonSchema {
  const { properties, required = [] } = z.toJSONSchema(schema, { io: 'input' });
  return {
    type: 'object',
    properties: properties as ToolJsonSchema['properties'],
    required,
    additionalProperties: false,
  };
}

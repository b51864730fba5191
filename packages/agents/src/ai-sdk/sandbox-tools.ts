import type { Sandbox } from '@svc/sdk';
import { type ToolSet, tool } from 'ai';
import { sandboxTools as neutralTools, type SandboxToolsOptions } from '../sandbox-tools.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import type { ToolContent } from '../tools/tool.js';

/** The output of a tool: text, but for images. */
export type SandboxToolOutput = string | readonly ToolContent[];

/**
 * Tools for `generateText`, `streamText` and agents of the Vercel AI SDK. When a call is aborted, what it runs in the sandbox is
 * killed. What fails is a `tool-error`, which the model reads and can act on.
 * @param source one sandbox, which stays yours to kill, or the sandboxes of one agent
 * @example
 * await using sandboxes = new ToolSandboxes({ client: new Client() });
 * const { text } = await generateText({
 *   model,
 *   tools: sandboxTools(sandboxes),
 *   stopWhen: isStepCount(20),
 *   prompt: 'Which primes are below 30? Write a program, and run it.',
 * });
 */
export function sandboxTools(source: Sandbox | ToolSandboxes, options: SandboxToolsOptions = {}): ToolSet {
  return Object.fromEntries(
    neutralTools(source, options).map(({ name, title, description, inputSchema, call }) => [
      name,
      tool({
        title,
        description,
        inputSchema,
        async execute(input, { abortSignal }): Promise<SandboxToolOutput> {
          const { content, isError } = await call(input, { signal: abortSignal });
          const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
          if (isError) throw new Error(texts.join('\n'));
          return texts.length === content.length ? texts.join('\n') : content;
        },
        toModelOutput: ({ output }) =>
          typeof output === 'string'
            ? { type: 'text', value: output }
            : { type: 'content', value: output.map(toModelPart) },
      }),
    ]),
  );
}

function toModelPart(part: ToolContent) {
  if (part.type === 'text') return { type: 'text' as const, text: part.text };
  const { data, mimeType: mediaType } = part;
  return { type: 'file' as const, mediaType, data: { type: 'data' as const, data } };
}

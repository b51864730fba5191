import { createTool, type Tool } from '@mastra/core/tools';
import type { Sandbox } from '@svc/sdk';
import { sandboxTools as neutralTools, type SandboxToolsOptions } from '../sandbox-tools.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import type { ToolContent } from '../tools/tool.js';

/**
 * Tools for agents and workflows of Mastra. When a run is aborted, what it runs in the sandbox is killed. What fails is an error of the
 * tool, which the model reads and can act on.
 * @param source one sandbox, which stays yours to kill, or the sandboxes of one agent
 * @example
 * const sandboxes = new ToolSandboxes({ client: new Client() });
 * const agent = new Agent({ id: 'coder', name: 'Coder', instructions, model, tools: sandboxTools(sandboxes) });
 */
export function sandboxTools(
  source: Sandbox | ToolSandboxes,
  options: SandboxToolsOptions = {},
): Record<string, Tool> {
  const tools = neutralTools(source, options).map(({ name, description, inputSchema, call }) =>
    createTool({
      id: name,
      description,
      inputSchema: inputSchema as never,
      async execute(input, { abortSignal }) {
        const { content, isError } = await call(input, { signal: abortSignal });
        const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
        if (isError) throw new Error(texts.join('\n'));
        return texts.length === content.length ? texts.join('\n') : content;
      },
      // An output that is no list of parts is text, or Mastra's own message about arguments that do not fit.
      toModelOutput: (output: unknown) =>
        Array.isArray(output) ? { type: 'content', value: output.map(toModelPart) } : undefined,
    }),
  );
  return Object.fromEntries(tools.map((tool) => [tool.id, tool as unknown as Tool]));
}

function toModelPart(part: ToolContent) {
  return part.type === 'text' ? part : { type: 'media', data: part.data, mediaType: part.mimeType };
}

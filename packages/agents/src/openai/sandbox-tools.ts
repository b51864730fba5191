import { type FunctionTool, tool } from '@openai/agents';
import type { Sandbox } from '@svc/sdk';
import { sandboxTools as neutralTools, type SandboxToolsOptions } from '../sandbox-tools.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import type { ToolContent } from '../tools/tool.js';

/**
 * Function tools for agents of the OpenAI Agents SDK, for every model. When a run is aborted, what it runs in the sandbox is killed.
 * A failure is reported to the model, which can act on it.
 * @param source one sandbox, which stays yours to kill, or the sandboxes of one agent
 * @example
 * await using sandboxes = new ToolSandboxes({ client: new Client() });
 * const agent = new Agent({ name: 'Coder', tools: sandboxTools(sandboxes) });
 * const { finalOutput } = await run(agent, 'Which primes are below 30? Write a program, and run it.');
 */
export function sandboxTools(
  source: Sandbox | ToolSandboxes,
  options: SandboxToolsOptions = {},
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own lists of tools are of this type
): FunctionTool<any, any, any>[] {
  return neutralTools(source, options).map(({ name, description, jsonSchema, call }) =>
    tool({
      name,
      description,
      // Not strict: there every parameter would be required. What the model gives is checked by the tool.
      parameters: { ...jsonSchema, additionalProperties: true } as never,
      strict: false,
      async execute(input, _context, details) {
        const { content } = await call(input, { signal: details?.signal });
        const [first] = content;
        return content.length === 1 && first?.type === 'text' ? first.text : content.map(toOutput);
      },
    }),
  );
}

function toOutput(part: ToolContent) {
  if (part.type === 'text') return part;
  return { type: 'image', image: { data: part.data, mediaType: part.mimeType } };
}

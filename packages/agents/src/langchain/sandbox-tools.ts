import { ToolMessage } from '@langchain/core/messages';
import { type DynamicStructuredTool, tool } from '@langchain/core/tools';
import type { Sandbox } from '@svc/sdk';
import { sandboxTools as neutralTools, type SandboxToolsOptions } from '../sandbox-tools.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import type { ToolContent } from '../tools/tool.js';

/**
 * Tools for agents of LangChain and LangGraph, and for models that bind tools. When a run is aborted (`signal`), what it runs in the
 * sandbox is killed. What fails is a tool message of status `error`, which the model reads and can act on.
 * @param source one sandbox, which stays yours to kill, or the sandboxes of one agent
 * @example
 * await using sandboxes = new ToolSandboxes({ client: new Client() });
 * const agent = createAgent({ model, tools: sandboxTools(sandboxes) });
 * const { messages } = await agent.invoke({ messages: 'Which primes are below 30? Write a program, and run it.' });
 */
export function sandboxTools(
  source: Sandbox | ToolSandboxes,
  options: SandboxToolsOptions = {},
): DynamicStructuredTool[] {
  const tools = neutralTools(source, options).map(({ name, description, jsonSchema, call }) =>
    tool(
      async (input, { signal, toolCall }) => {
        const { content, isError } = await call(input, { signal });
        const [first] = content;
        const plain = content.length === 1 && first?.type === 'text' ? first.text : [...content];
        if (!isError) return plain;
        // Called by a program, not by a model: there is no message to answer.
        if (toolCall?.id === undefined) throw new Error(textOf(content));
        return new ToolMessage({
          name,
          tool_call_id: toolCall.id,
          status: 'error',
          content: [{ type: 'text', text: textOf(content) }],
        });
      },
      { name, description, schema: jsonSchema as never },
    ),
  );
  return tools as unknown as DynamicStructuredTool[];
}

const textOf = (content: readonly ToolContent[]) =>
  content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n');

import { McpServer } from '@modelcontextprotocol/server';
import { sandboxTools } from '../sandbox-tools.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';

/** The sandboxes behind the tools, and the server's version. */
export interface McpToolsOptions {
  readonly sandboxes: ToolSandboxes;
  /** Version that clients see. */
  readonly version: string;
}

const INSTRUCTIONS = `Tools that work in isolated Linux sandboxes. Leave "sandbox" out to use the default one: it is made on first use,
and files, packages and background programs stay in it between calls. Make more with create_sandbox, or copies of a running one,
memory included, with fork_sandbox, and name them by their id.`;

/** A server with all tools. One serves one connection, or one request over HTTP; the sandboxes outlive it. */
export function createMcpServer({ sandboxes, version }: McpToolsOptions): McpServer {
  const server = new McpServer(
    { name: 'svc', title: 'svc sandboxes', version },
    { instructions: INSTRUCTIONS },
  );
  for (const { name, title, description, inputSchema, effects, call } of sandboxTools(sandboxes)) {
    const annotations = {
      readOnlyHint: effects.readOnly,
      destructiveHint: effects.destructive,
      idempotentHint: effects.idempotent,
      openWorldHint: effects.openWorld,
    };
    server.registerTool(name, { title, description, inputSchema, annotations }, async (input, context) => {
      const { content, ...answer } = await call(input, context.mcpReq);
      return { ...answer, content: [...content] };
    });
  }
  return server;
}

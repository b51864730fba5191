import { McpServer } from '@modelcontextprotocol/server';
import type { ToolSandboxes } from './tool-sandboxes.js';
import { addCodeTools } from './tools/code.js';
import { addFileTools } from './tools/files.js';
import { addSandboxTools } from './tools/sandboxes.js';

/** What the tools work with. */
export interface McpToolsOptions {
  readonly sandboxes: ToolSandboxes;
  /** Version that clients are told. */
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
  addCodeTools(server, sandboxes);
  addFileTools(server, sandboxes);
  addSandboxTools(server, sandboxes);
  return server;
}

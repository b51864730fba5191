// Sandboxes as tools of agents, of no framework: the adapters and the server of the Model Context Protocol stand on these.
export { type SandboxToolsOptions, sandboxTools } from './sandbox-tools.js';
export { ToolSandboxes, type ToolSandboxesOptions } from './tool-sandboxes.js';
export type {
  CallToolOptions,
  SandboxTool,
  ToolAnswer,
  ToolContent,
  ToolEffects,
  ToolJsonSchema,
  ToolName,
} from './tools/tool.js';

// Sandboxes for LangChain and LangGraph.
export { ToolSandboxes, type ToolSandboxesOptions } from '../tool-sandboxes.js';
export { sandboxTools } from './sandbox-tools.js';

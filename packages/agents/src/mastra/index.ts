// Sandboxes for Mastra.
export { ToolSandboxes, type ToolSandboxesOptions } from '../tool-sandboxes.js';
export { SvcFilesystem } from './filesystem.js';
export { SvcSandbox } from './sandbox.js';
export { sandboxTools } from './sandbox-tools.js';

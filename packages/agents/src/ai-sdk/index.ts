// Sandboxes for the Vercel AI SDK.
export { ToolSandboxes, type ToolSandboxesOptions } from '../tool-sandboxes.js';
export { createSandboxSession, type SandboxSessionOptions } from './sandbox-session.js';
export { type SandboxToolOutput, sandboxTools } from './sandbox-tools.js';

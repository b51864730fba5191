// Sandboxes for the OpenAI Agents SDK.
export { ToolSandboxes, type ToolSandboxesOptions } from '../tool-sandboxes.js';
export { sandboxEditor } from './sandbox-editor.js';
export { createSandboxSession, type SandboxSessionOptions } from './sandbox-session.js';
export { type SandboxShellOptions, sandboxShell } from './sandbox-shell.js';
export { sandboxTools } from './sandbox-tools.js';

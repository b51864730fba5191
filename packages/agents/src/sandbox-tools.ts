import type { Sandbox } from '@svc/sdk';
import type { ToolSandboxes } from './tool-sandboxes.js';
import { codeTools } from './tools/code.js';
import type { ToolTarget } from './tools/define-tool.js';
import { fileTools } from './tools/files.js';
import { lifecycleTools, portTools } from './tools/sandboxes.js';
import type { SandboxTool, ToolName } from './tools/tool.js';

/** Which tools to make. */
export interface SandboxToolsOptions {
  /** Names of the tools to have. Default: all. */
  readonly tools?: readonly ToolName[] | undefined;
}

/**
 * Tools of no framework.
 * @param source where they work: one sandbox, which stays yours to kill, or the sandboxes of one agent. For one sandbox the tools
 * that make and end sandboxes are left out.
 */
export function sandboxTools(
  source: Sandbox | ToolSandboxes,
  { tools: names }: SandboxToolsOptions = {},
): SandboxTool[] {
  const several = 'several' in source;
  const target: ToolTarget = several ? source : { several, use: async () => source };
  const tools = [
    ...codeTools(target),
    ...fileTools(target),
    ...portTools(target),
    ...(several ? lifecycleTools(source) : []),
  ];
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

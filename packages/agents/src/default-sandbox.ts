import type { Sandbox } from '@svc/sdk';
import type { ToolSandboxes } from './tool-sandboxes.js';

/** The one sandbox, or the default one of several. */
export async function defaultSandbox(source: Sandbox | ToolSandboxes): Promise<Sandbox> {
  return 'several' in source ? source.use() : source;
}

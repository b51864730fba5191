import { z } from 'zod';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { defineSandboxTool, defineTool, failure, sandboxId, type ToolTarget, text } from './define-tool.js';
import type { SandboxTool } from './tool.js';

/** Tools that make and end sandboxes. */
export function lifecycleTools(sandboxes: ToolSandboxes): SandboxTool[] {
  const createSandbox = defineTool({
    name: 'create_sandbox',
    title: 'Create a sandbox',
    description:
      'Makes a further sandbox, isolated from all others, and returns its id. It ends some time after its last use.',
    input: {
      template: z
        .string()
        .optional()
        .describe('Template to start from. Default: that of the default sandbox.'),
    },
    effects: { destructive: false },
    run: async ({ template }) => text((await sandboxes.create(template)).id),
  });

  const forkSandbox = defineTool({
    name: 'fork_sandbox',
    title: 'Fork a sandbox',
    description:
      'Copies a running sandbox with its files, programs and their memory, and returns the ids of the copies. Each continues by itself from where the source is: try several continuations of one state side by side.',
    input: {
      count: z.number().int().min(1).max(20).default(1).describe('How many copies.'),
      sandbox: sandboxId,
    },
    effects: { destructive: false },
    async run({ count, sandbox }) {
      const forks = await sandboxes.fork(sandbox, count);
      const lines = forks.map((fork) => (fork.ok ? fork.sandbox.id : `failed: ${fork.error.message}`));
      return (forks.some(({ ok }) => ok) ? text : failure)(lines.join('\n'));
    },
  });

  const killSandbox = defineTool({
    name: 'kill_sandbox',
    title: 'Kill a sandbox',
    description: 'Ends a sandbox from create_sandbox or fork_sandbox. What is in it is lost.',
    input: { sandbox: z.string().min(1) },
    effects: { idempotent: true },
    run: async ({ sandbox }) =>
      text((await sandboxes.kill(sandbox)) ? `Killed ${sandbox}.` : `There is no sandbox ${sandbox}.`),
  });
  return [createSandbox, forkSandbox, killSandbox];
}

/** Tools for what a sandbox serves. */
export function portTools(target: ToolTarget): SandboxTool[] {
  const getPortUrl = defineSandboxTool(target, {
    name: 'get_port_url',
    title: 'Address of a port',
    description:
      'Returns the address under which a port of a sandbox is reached from outside, once a program in it listens there on any interface.',
    input: { port: z.number().int().min(1).max(65_535) },
    effects: { readOnly: true },
    run: async ({ port }, { sandbox }) => text(sandbox.url(port)),
  });
  return [getPortUrl];
}

import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { sandboxId, text } from './tool.js';

/** Tools for sandboxes themselves. */
export function addSandboxTools(server: McpServer, sandboxes: ToolSandboxes): void {
  server.registerTool(
    'create_sandbox',
    {
      title: 'Create a sandbox',
      description:
        'Makes a further sandbox, apart from all others, and returns its id. It ends some time after its last use.',
      inputSchema: z.object({
        template: z
          .string()
          .optional()
          .describe('Template to start from. Default: that of the default sandbox.'),
      }),
      annotations: { destructiveHint: false },
    },
    async ({ template }) => text((await sandboxes.create(template)).id),
  );

  server.registerTool(
    'fork_sandbox',
    {
      title: 'Fork a sandbox',
      description:
        'Copies a running sandbox with its files, programs and their memory, and returns the ids of the copies. Each goes on by itself from where the source is: try several continuations of one state side by side.',
      inputSchema: z.object({
        count: z.number().int().min(1).max(20).default(1).describe('How many copies.'),
        sandbox: sandboxId,
      }),
      annotations: { destructiveHint: false },
    },
    async ({ count, sandbox }) => {
      const forks = await sandboxes.fork(sandbox, count);
      const lines = forks.map((fork) => (fork.ok ? fork.sandbox.id : `failed: ${fork.error.message}`));
      return { ...text(lines.join('\n')), ...(forks.some(({ ok }) => ok) ? {} : { isError: true }) };
    },
  );

  server.registerTool(
    'kill_sandbox',
    {
      title: 'Kill a sandbox',
      description: 'Ends a sandbox from create_sandbox or fork_sandbox. What is in it is lost.',
      inputSchema: z.object({ sandbox: z.string().min(1) }),
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    async ({ sandbox }) =>
      text((await sandboxes.kill(sandbox)) ? `Killed ${sandbox}.` : `There is no sandbox ${sandbox}.`),
  );

  server.registerTool(
    'get_port_url',
    {
      title: 'Address of a port',
      description:
        'Returns the address under which a port of a sandbox is reached from outside, once a program in it listens there on any interface.',
      inputSchema: z.object({ port: z.number().int().min(1).max(65_535), sandbox: sandboxId }),
      annotations: { readOnlyHint: true },
    },
    async ({ port, sandbox }) => text((await sandboxes.use(sandbox)).url(port)),
  );
}

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Command } from 'commander';
import { act } from '../cli/leaf.js';
import { parseDuration } from '../parse/duration.js';
import { wholeNumber } from '../parse/number.js';
import { collectList, collectPairs } from '../parse/pairs.js';
import { toCreateOptions } from './sandbox/create.js';

interface McpFlags {
  http?: number;
  allowHost?: string[];
  template?: string;
  name?: string;
  timeout?: number;
  env?: Record<string, string>;
  internet: boolean;
}

export function addMcpCommand(mcp: Command): void {
  mcp
    .option(
      '--http <port>',
      'serve HTTP on this port of the loopback interface; 0: any free port',
      wholeNumber('The port', 0, 65_535),
    )
    .option('--allow-host <name>', 'with --http: name of a reverse proxy in front; repeatable', collectList)
    .option('--template <template>', 'template of its sandboxes (default: base)')
    .option('--name <name>', 'use the sandbox of this name by default, and leave it when the client leaves')
    .option('-t, --timeout <span>', 'life of a sandbox after its last use (default: 15m)', parseDuration)
    .option('-e, --env <NAME=value>', 'environment variable of its sandboxes; repeatable', collectPairs)
    .option('--no-internet', 'no connections to the internet')
    .addHelpText(
      'after',
      `
Speaks the protocol over standard input and output, as clients that start it expect:
  { "mcpServers": { "svc": { "command": "svc", "args": ["mcp"] } } }
With --http clients send the token that is printed at the start, or that of SVC_MCP_TOKEN.`,
    )
    .action(
      act(async (cli, flags: McpFlags) => {
        const { ToolSandboxes, serveHttp, serveStdio } = await import('@svc/agents/mcp');
        const { cliVersion: version } = await import('../cli/version.js');
        const create = toCreateOptions(flags.template, flags);
        const sandboxes = new ToolSandboxes({
          client: await cli.client(),
          create,
          name: flags.name,
          owner: 'mcp',
        });
        try {
          if (flags.http === undefined) return await serveStdio({ sandboxes, version }, cli.signal);
          const given = cli.env.SVC_MCP_TOKEN;
          const token = given ?? randomBytes(24).toString('base64url');
          const { allowHost: allowedHosts = [], http: port } = flags;
          const server = await serveHttp({ sandboxes, version, port, token, allowedHosts });
          const shown = given === undefined ? { url: server.url, token } : { url: server.url };
          cli.out.result(shown, () =>
            [server.url, ...(given === undefined ? [`Authorization: Bearer ${token}`] : []), ''].join('\n'),
          );
          if (!cli.signal.aborted) await once(cli.signal, 'abort');
          await server.close();
        } finally {
          await sandboxes.close();
        }
      }),
    );
}

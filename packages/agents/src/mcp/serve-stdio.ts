import { serveStdio as serveConnection } from '@modelcontextprotocol/server/stdio';
import { createMcpServer, type McpToolsOptions } from './create-mcp-server.js';

/** Serves one client over standard input and output until it leaves or the signal fires. */
export async function serveStdio(options: McpToolsOptions, signal: AbortSignal): Promise<void> {
  const left = new Promise<void>((leave) => {
    process.stdin.once('close', leave).once('end', leave);
    signal.addEventListener('abort', () => leave(), { once: true });
    if (signal.aborted) leave();
  });
  const connection = serveConnection(() => createMcpServer(options));
  await left;
  await connection.close();
}

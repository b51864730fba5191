import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { readAtMost } from '../read-at-most.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { sandboxId, text, user } from './tool.js';

/** Largest file that is read at all, bytes. */
const MOST_READ = 5 * 1024 * 1024;
/** Characters that one call returns. */
const MOST_TOLD = 64 * 1024;
const MOST_LISTED = 1_000;

const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

const path = z.string().min(1).describe('Absolute, or relative to the home.');

/** Tools for files. */
export function addFileTools(server: McpServer, sandboxes: ToolSandboxes): void {
  server.registerTool(
    'read_file',
    {
      title: 'Read a file',
      description:
        'Returns lines of a text file in a sandbox, or an image (PNG, JPEG, GIF, WebP) as an image. At most 64 KiB of text a call: read on with first_line.',
      inputSchema: z.object({
        path,
        first_line: z.number().int().min(1).default(1),
        lines: z.number().int().min(1).default(2_000).describe('Most lines to return.'),
        user,
        sandbox: sandboxId,
      }),
      annotations: { readOnlyHint: true },
    },
    async ({ path, first_line, lines, user, sandbox }, context) => {
      const { files } = await sandboxes.use(sandbox);
      const options = { user, signal: context.mcpReq.signal };
      const bytes = await readAtMost(await files.read(path, { ...options, format: 'stream' }), MOST_READ);
      if (bytes === undefined)
        throw new Error(`${path} has more than ${MOST_READ} bytes: read a part of it with run_command.`);
      const mimeType = IMAGES[path.split('.').at(-1)?.toLowerCase() ?? ''];
      if (mimeType !== undefined)
        return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType }] };
      return linesOf(path, bytes, first_line, lines);
    },
  );

  server.registerTool(
    'write_file',
    {
      title: 'Write a file',
      description: 'Writes a text file in a sandbox, folders above it included. What it held before is gone.',
      inputSchema: z.object({ path, content: z.string(), user, sandbox: sandboxId }),
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    async ({ path, content, user, sandbox }, context) => {
      const { files } = await sandboxes.use(sandbox);
      const written = await files.write(path, content, { user, signal: context.mcpReq.signal });
      return text(`Wrote ${Buffer.byteLength(content)} bytes to ${written.path}.`);
    },
  );

  server.registerTool(
    'list_files',
    {
      title: 'List a folder',
      description: 'Lists a folder in a sandbox: one line each, with size; folders end with "/".',
      inputSchema: z.object({
        path: path.default('.'),
        depth: z.number().int().min(1).max(8).default(1).describe('Levels to go down.'),
        user,
        sandbox: sandboxId,
      }),
      annotations: { readOnlyHint: true },
    },
    async ({ path, depth, user, sandbox }, context) => {
      const { files } = await sandboxes.use(sandbox);
      const entries = await files.list(path, { depth, user, signal: context.mcpReq.signal });
      const told = entries
        .slice(0, MOST_LISTED)
        .map((entry) =>
          entry.type === 'directory' ? `${entry.path}/` : `${entry.path}  ${entry.sizeBytes}`,
        );
      if (entries.length > MOST_LISTED) told.push(`[... and ${entries.length - MOST_LISTED} more]`);
      return text(told.length === 0 ? 'The folder is empty.' : told.join('\n'));
    },
  );
}

/** A part of a text, as many whole lines of it as fit, and where to read on. */
function linesOf(path: string, bytes: Uint8Array, first: number, most: number): CallToolResult {
  if (bytes.subarray(0, 8_192).includes(0))
    throw new Error(`${path} is not a text: look at it with run_command, for example "file" or "xxd".`);
  const all = new TextDecoder().decode(bytes).split('\n');
  if (all.at(-1) === '') all.pop();
  if (first > Math.max(1, all.length)) throw new Error(`${path} has ${all.length} lines.`);
  const taken: string[] = [];
  let size = 0;
  for (const line of all.slice(first - 1, first - 1 + most)) {
    size += line.length + 1;
    if (size > MOST_TOLD && taken.length > 0) break;
    taken.push(
      line.length > MOST_TOLD ? `${line.slice(0, MOST_TOLD)} [... ${line.length} characters]` : line,
    );
  }
  const next = first + taken.length;
  const rest = next <= all.length ? [`[${all.length} lines: read on with first_line ${next}]`] : [];
  return text(taken.join('\n'), ...rest);
}

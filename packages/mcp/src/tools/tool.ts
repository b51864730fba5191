import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Names a sandbox; every tool that works in one takes it. */
export const sandboxId = z
  .string()
  .optional()
  .describe('Id of a sandbox from create_sandbox or fork_sandbox. Default: the default sandbox.');

/** Name or uid of a user inside. */
export const user = z
  .string()
  .optional()
  .describe('User inside the sandbox: "root" for all rights in it. Default: the ordinary user.');

export function text(...parts: string[]): CallToolResult {
  return { content: parts.map((part) => ({ type: 'text', text: part })) };
}

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ServerChild } from './server-child.js';

/** Orders for the process that reads a command's output. */
export interface CommandOrders {
  server: Pick<ServerChild, 'apiUrl' | 'sandboxUrl' | 'apiKey'>;
  sandboxId: string;
  command: string;
}

/**
 * Starts a command whose output a process of its own reads: a flood of output would keep the event loop that measures busy.
 * @returns once it runs. Kill the process when it is over.
 */
export async function startCommandChild(orders: CommandOrders): Promise<ChildProcess> {
  const { apiUrl, sandboxUrl, apiKey } = orders.server;
  const told: CommandOrders = { ...orders, server: { apiUrl, sandboxUrl, apiKey } };
  const child = fork(fileURLToPath(new URL('./command-process.js', import.meta.url)), [JSON.stringify(told)]);
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the reader of a command ended with code ${String(code)}`);
  });
  failed.catch(() => {});
  await Promise.race([once(child, 'message'), failed]);
  return child;
}

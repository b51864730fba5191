import type { Server } from '../../src/index.js';

/** Asks the operator port of a server, with its token. */
export async function operate(
  server: Server,
  method: string,
  target: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
): Promise<{ status: number; body: any }> {
  const response = await fetch(`${server.operatorUrl}${target}`, {
    method,
    headers: { Authorization: `Bearer ${server.operatorToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

import type { IncomingMessage } from 'node:http';

/**
 * Reads a small body whole.
 *
 * @throws Error when it is longer than `maxBytes` or breaks off.
 */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new Error(`the body is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

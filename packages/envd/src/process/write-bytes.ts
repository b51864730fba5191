import type { Writable } from 'node:stream';

/**
 * Writes and waits until the kernel has taken everything.
 *
 * @throws Error when the other side is gone.
 */
export function writeBytes(stream: Writable, bytes: Uint8Array, name: string): Promise<void> {
  if (!stream.writable) return Promise.reject(new Error(`${name} of this process is closed`));
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => {
      if (error) reject(new Error(`cannot write to ${name}: ${error.message}`));
      else resolve();
    });
  });
}

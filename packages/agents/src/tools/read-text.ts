import type { Sandbox } from '@svc/sdk';
import { readAtMost } from '../read-at-most.js';

/** Largest file that a model is given at all, bytes. */
const MOST_READ = 5 * 1024 * 1024;

interface ReadFileOptions {
  /** Default 5 MiB. */
  readonly mostBytes?: number;
  readonly user?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The bytes of a file of a sandbox. @throws for a larger one, with what to do instead */
export async function readBytes(
  { files }: Sandbox,
  path: string,
  { mostBytes = MOST_READ, ...options }: ReadFileOptions = {},
): Promise<Buffer> {
  const bytes = await readAtMost(await files.read(path, { ...options, format: 'stream' }), mostBytes);
  if (bytes !== undefined) return bytes;
  throw new Error(`${path} has more than ${mostBytes} bytes: work on it with a command in the sandbox.`);
}

/**
 * The text of bytes.
 * @param exact whether the text gives the same bytes again
 * @throws for what is no text
 */
export function textOf(path: string, bytes: Uint8Array, { exact = false } = {}): string {
  if (bytes.subarray(0, 8_192).includes(0))
    throw new Error(`${path} is not a text: look at it with a command, for example "file" or "xxd".`);
  try {
    return new TextDecoder('utf-8', { fatal: exact, ignoreBOM: exact }).decode(bytes);
  } catch {
    throw new Error(
      `${path} is not UTF-8: editing it would change more of it. Use a command, for example sed.`,
    );
  }
}

/** The text of a file of a sandbox, 5 MiB at most. @throws as `readBytes` and `textOf` */
export async function readText(
  sandbox: Sandbox,
  path: string,
  { exact, ...options }: ReadFileOptions & { readonly exact?: boolean } = {},
): Promise<string> {
  return textOf(path, await readBytes(sandbox, path, options), exact === undefined ? {} : { exact });
}

import type { Sandbox } from '@svc/sdk';
import { quote, ServerError } from '@svc/sdk';

/** The part of a sandbox that a synchronization uses. */
export type SyncSandbox = Pick<Sandbox, 'sandboxId' | 'commands' | 'files' | 'info'>;

/** A shell script to be run in the sandbox. */
export interface ScriptRun {
  /** POSIX shell. What it prints is not touched by what login scripts print before it. */
  script: string;
  /** `$1` and so on. */
  args: readonly string[];
  /** Its standard input, closed at its end. */
  input?: AsyncIterable<Uint8Array> | undefined;
  user: string | undefined;
  signal: AbortSignal;
}

const longestStderr = 2_000;

/**
 * Runs a script in the sandbox and gives what it prints, as fast as it is read. Leaving the loop kills it.
 * @throws ServerError with what it said when its exit status is not 0
 */
export async function* runScript(
  sandbox: SyncSandbox,
  { script, args, input, user, signal }: ScriptRun,
): AsyncGenerator<Uint8Array, void, undefined> {
  const marker = `svc-sync-${crypto.randomUUID()}\n`;
  const words = [
    'exec',
    'env',
    'LC_ALL=C',
    'sh',
    '-c',
    `printf %s ${quote(marker)}\n${script}`,
    'svc-sync',
    ...args,
  ];
  const line = words.map((word, at) => (at === 0 ? word : quote(word))).join(' ');
  const command = await sandbox.commands.start(line, { stdin: input !== undefined, user, signal });
  const feeding = input === undefined ? Promise.resolve() : feed(command.stdin, input);
  // Its failure ends the script; it is thrown below.
  feeding.catch(() => command.kill().catch(() => false));
  let ended = false;
  try {
    yield* afterMarker(command.stdout, new TextEncoder().encode(marker));
    const { exitCode, stderr, error } = await command.wait({ check: false, signal });
    ended = true;
    await feeding;
    if (exitCode !== 0) {
      const said = stderr.trim().slice(-longestStderr) || error;
      throw new ServerError(`sync: a program failed in the sandbox: ${said}`, { operation: 'sync' });
    }
  } catch (error) {
    signal.throwIfAborted();
    // An error that the source of the input threw is the reason for every later failure of the script.
    if (ended) throw error;
    const failed = await Promise.race([
      feeding.then(
        () => undefined,
        (cause: unknown) => ({ cause }),
      ),
      undefined,
    ]);
    throw failed === undefined ? error : failed.cause;
  } finally {
    if (!ended) await command.kill().catch(() => false);
    command.disconnect();
  }
}

/** Runs a script and gives all that it prints, up to a limit. */
export async function readScript(sandbox: SyncSandbox, run: ScriptRun, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of runScript(sandbox, run)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxBytes)
      throw new ServerError('sync: the sandbox printed more than it may.', { operation: 'sync' });
  }
  return text + decoder.decode();
}

/** One piece of bytes as a stream. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

async function feed(
  stdin: WritableStream<Uint8Array | string>,
  input: AsyncIterable<Uint8Array>,
): Promise<void> {
  const writer = stdin.getWriter();
  for await (const bytes of input) await writer.write(bytes);
  await writer.close();
}

async function* afterMarker(
  stdout: ReadableStream<Uint8Array>,
  marker: Uint8Array,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stdout.getReader();
  let before: Buffer | undefined = Buffer.alloc(0);
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      if (before === undefined) {
        yield step.value;
        continue;
      }
      before = Buffer.concat([before, step.value]);
      const at = before.indexOf(marker);
      if (at === -1) {
        before = before.subarray(Math.max(0, before.length - marker.length));
        continue;
      }
      const rest = before.subarray(at + marker.length);
      before = undefined;
      if (rest.length > 0) yield rest;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

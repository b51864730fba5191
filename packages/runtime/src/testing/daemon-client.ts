import { type IncomingMessage, request } from 'node:http';
import { frame, readFrames } from '#support/connect-frames';
import type { Instance } from '../contract/instance.js';

const DAEMON_PORT = 49983;

export interface CommandResult {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface RunningCommand {
  pid: number;
  /** Settles when the program ended. */
  result: Promise<CommandResult>;
  /** The output so far. */
  stdout(): string;
  /** Releases the stream; the program runs on. */
  leave(): void;
}

/** The little of the daemon's protocol that a driver's tests need, spoken by hand over {@link Instance.dial}. */
export class DaemonClient {
  readonly #instance: Instance;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** The status of `GET /health`. */
  async health(signal: AbortSignal = AbortSignal.timeout(30_000)): Promise<number> {
    const response = await this.#send({ method: 'GET', path: '/health', signal });
    response.resume();
    return response.statusCode ?? 0;
  }

  /** Runs a shell script to its end, as `user` in its home directory by default. */
  async run(script: string, user = 'user'): Promise<CommandResult> {
    const running = await this.start(script, user);
    return running.result;
  }

  /** Runs a script that must succeed; gives what it printed, trimmed. */
  async output(script: string): Promise<string> {
    const { stdout, stderr, exitCode } = await this.run(script);
    if (exitCode !== 0) throw new Error(`The script ended with ${exitCode}: ${stderr || stdout}`);
    return stdout.trim();
  }

  /** Starts a shell script and gives it when it runs. */
  async start(script: string, user = 'user'): Promise<RunningCommand> {
    const leaving = new AbortController();
    const body = frame({ process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false });
    const response = await this.#send({
      method: 'POST',
      path: '/process.Process/Start',
      headers: {
        'content-type': 'application/connect+json',
        'connect-protocol-version': '1',
        authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}`,
      },
      body,
      signal: leaving.signal,
    });
    if (response.statusCode !== 200) throw new Error(`Process.Start answered ${response.statusCode}`);
    return follow(response, leaving);
  }

  async #send(options: {
    method: string;
    path: string;
    headers?: Record<string, string>;
    body?: Buffer;
    signal: AbortSignal;
  }): Promise<IncomingMessage> {
    const { method, path, headers, body, signal } = options;
    const socket = await this.#instance.dial(DAEMON_PORT, { signal });
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          method,
          path,
          headers: { connection: 'close', host: 'daemon', ...headers },
          createConnection: () => socket,
          signal,
        },
        resolve,
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

interface StartMessage {
  event?: {
    start?: { pid: number };
    data?: { stdout?: string; stderr?: string };
    end?: { exitCode?: number };
  };
  error?: { code?: string; message?: string };
}

function follow(response: IncomingMessage, leaving: AbortController): Promise<RunningCommand> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let exitCode: number | undefined;
  return new Promise((resolve, reject) => {
    const read = async (): Promise<CommandResult> => {
      for await (const message of readFrames(response)) {
        const { event, error } = message.json() as StartMessage;
        if (error !== undefined) throw new Error(`Process.Start failed: ${error.code} ${error.message}`);
        if (event?.start !== undefined)
          resolve({ pid: event.start.pid, result, stdout: text(stdout), leave });
        if (event?.data?.stdout !== undefined) stdout.push(Buffer.from(event.data.stdout, 'base64'));
        if (event?.data?.stderr !== undefined) stderr.push(Buffer.from(event.data.stderr, 'base64'));
        // Proto JSON leaves out zero.
        if (event?.end !== undefined) exitCode = event.end.exitCode ?? 0;
      }
      if (exitCode === undefined) throw new Error('The stream of the process ended early.');
      return { stdout: text(stdout)(), stderr: text(stderr)(), exitCode };
    };
    const leave = () => leaving.abort();
    const result = read();
    result.catch(reject);
  });
}

function text(chunks: Buffer[]): () => string {
  return () => Buffer.concat(chunks).toString('utf8');
}

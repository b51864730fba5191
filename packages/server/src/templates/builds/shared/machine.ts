import type { Readable } from 'node:stream';
import { basicAuthorization, Code, ConnectError, createDaemonClient, type DaemonClient } from '@svc/daemon';
import { createDialTransport, type DaemonDial, exchange } from '@svc/daemon/dial';
import type { Instance, InstanceSpec } from '@svc/runtime/contract';
import { anyOf } from '#support/any-of';
import { LineSplitter } from '#support/line-splitter';
import { dialDaemon, initDaemon } from '../../../sandboxes/daemon/daemon-control.js';
import { daemonToken } from '../../../sandboxes/state/sandbox-tokens.js';
import type { Uses } from '../../context.js';
import { BuildError } from './build.js';

/** Longest answer of the build instance: root inside may answer in place of the daemon. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const MAX_SCRIPT_OUTPUT = 16 * 1024 * 1024;

export interface ProgramOptions {
  /** For `/bin/sh -c`. */
  script: string;
  /** `$1` and so on. */
  args?: string[];
  user: string;
  /** Default: the home of the user. */
  cwd?: string | undefined;
  env?: Record<string, string>;
  tag?: string;
  /** One line of output. */
  onLine?(stream: 'stdout' | 'stderr', line: string): void;
  signal?: AbortSignal;
}

/** An instance in which a build works. */
export class BuildMachine implements AsyncDisposable {
  readonly instance: Instance;
  readonly #dial: DaemonDial;
  readonly #client: DaemonClient;
  readonly #token: string;
  readonly #signal: AbortSignal;
  readonly #onEnd: () => void;

  private constructor(instance: Instance, token: string, signal: AbortSignal, onEnd: () => void) {
    this.instance = instance;
    this.#onEnd = onEnd;
    this.#token = token;
    const over = new AbortController();
    // A connection to an instance that ended may never close by itself.
    void instance.ended.then((end) => {
      over.abort(new BuildError(end.reason === 'oom' ? 'out of memory' : 'the build instance ended'));
    });
    this.#signal = anyOf([signal, over.signal]);
    this.#dial = dialDaemon(instance);
    this.#client = createDaemonClient({
      baseUrl: 'http://sandbox',
      sandboxId: instance.id,
      accessToken: token,
      transport: createDialTransport({ dial: this.#dial, readMaxBytes: MAX_MESSAGE_BYTES }),
    });
  }

  /** Boots an instance for a build of a team, by default from its layers. What it sends counts for the team. */
  static async boot(
    context: Uses<'driver' | 'egress' | 'ids' | 'keys' | 'now' | 'usage'>,
    spec: InstanceSpec,
    settings: { teamId: string; env?: Record<string, string>; user?: string; workdir?: string | null },
    signal: AbortSignal,
    make?: (id: string) => Promise<Instance>,
  ): Promise<BuildMachine> {
    const id = `b${context.ids.hex(10)}`;
    const { usage } = context;
    usage.sends(id, settings.teamId);
    const onEnd = () => usage.sendsNoMore(id);
    const instance = await (make?.(id) ?? context.driver.create({ id, spec, signal })).catch(
      (error: unknown) => {
        onEnd();
        throw error;
      },
    );
    // Its names are looked up by the egress process, which answers those that it knows.
    context.egress.set(instance, {}).catch(() => {});
    const token = daemonToken(context.keys, { id, daemon_generation: 0 });
    try {
      await initDaemon(
        instance,
        {
          accessToken: token,
          envVars: settings.env ?? {},
          ...(settings.user === undefined ? {} : { defaultUser: settings.user }),
          ...(settings.workdir === undefined || settings.workdir === null
            ? {}
            : { defaultWorkdir: settings.workdir }),
          timestamp: new Date(context.now()).toISOString(),
        },
        { signal },
      );
    } catch (error) {
      await instance.destroy();
      onEnd();
      throw error;
    }
    return new BuildMachine(instance, token, signal, onEnd);
  }

  /** Runs a program to its end. @returns its exit status; -1 when a signal ended it */
  async run(options: ProgramOptions): Promise<number> {
    const signal = options.signal === undefined ? this.#signal : anyOf([this.#signal, options.signal]);
    const lines = {
      stdout: new LineSplitter((line) => options.onLine?.('stdout', line)),
      stderr: new LineSplitter((line) => options.onLine?.('stderr', line)),
    };
    try {
      const events = this.#client.process.start(
        {
          process: {
            cmd: '/bin/sh',
            args: ['-c', options.script, 'sh', ...(options.args ?? [])],
            envs: options.env ?? {},
            ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
          },
          ...(options.tag === undefined ? {} : { tag: options.tag }),
          stdin: false,
        },
        { headers: { Authorization: basicAuthorization(options.user) }, signal },
      );
      for await (const { event } of events) {
        const kind = event?.event;
        if (kind?.case === 'data') {
          const { output } = kind.value;
          if (output.case === 'stdout' || output.case === 'stderr') lines[output.case].push(output.value);
        } else if (kind?.case === 'end') {
          lines.stdout.end();
          lines.stderr.end();
          return kind.value.exited ? kind.value.exitCode : -1;
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      throw explained(error);
    }
    throw new BuildError('the build instance ended in the middle of a command');
  }

  /** Runs a script as root that must succeed. @returns what it printed, trimmed @throws {BuildError} with its last words */
  async script(what: string, script: string, args: string[] = []): Promise<string> {
    const out: string[] = [];
    const stderr: string[] = [];
    let size = 0;
    const code = await this.run({
      script,
      args,
      user: 'root',
      // Its home may be missing in an image.
      cwd: '/',
      onLine: (stream, line) => {
        size += line.length + 1;
        if (size <= MAX_SCRIPT_OUTPUT) (stream === 'stdout' ? out : stderr).push(line);
      },
    });
    if (size > MAX_SCRIPT_OUTPUT) throw new BuildError(`${what} failed: it printed too much`);
    if (code === 0) return out.join('\n').trim();
    throw new BuildError(`${what} failed: ${stderr.slice(-3).join('; ') || `exit status ${code}`}`);
  }

  /** Writes a file; a relative path starts at the home of root. */
  async upload(path: string, content: Readable): Promise<void> {
    const query = new URLSearchParams({ path, username: 'root' });
    const response = await exchange(
      this.#dial,
      {
        method: 'POST',
        path: `/files?${query}`,
        headers: { 'Content-Type': 'application/octet-stream', 'X-Access-Token': this.#token },
        body: content,
      },
      this.#signal,
    );
    const text = await readStart(response, MAX_ANSWER_BYTES);
    if (response.statusCode !== 200)
      throw new BuildError(
        response.statusCode === 507
          ? 'the disk of the build is full'
          : `files could not be written: ${text.slice(0, 300)}`,
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.instance.destroy();
    this.#onEnd();
  }
}

/** The beginning of a body, without waiting for the rest. */
async function readStart(body: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes);
}

function explained(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  if (error.code === Code.InvalidArgument || error.code === Code.Unauthenticated)
    return new BuildError(error.rawMessage);
  return error;
}

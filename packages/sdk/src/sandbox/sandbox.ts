import type { DaemonClient } from '@svc/daemon';
import type { ClientCore } from '../calls/client-core.js';
import { defaultCore } from '../calls/create-core.js';
import { CodeContexts } from '../code/code-contexts.js';
import type { Execution } from '../code/execution.js';
import type { Interpreter } from '../code/interpreter.js';
import type { RunCodeOptions } from '../code/run-code.js';
import { Commands } from '../commands/commands.js';
import { type Shell, shellFor } from '../commands/shell.js';
import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { DaemonConnection } from '../daemon/daemon-connection.js';
import { ServerError } from '../errors/answer-errors.js';
import { Files } from '../files/files.js';
import { Git } from '../git/git.js';
import { Pty } from '../pty/pty.js';
import type { SnapshotInfo } from '../snapshots/snapshot.js';
import { readEnvs, readUsage } from './daemon-facts.js';
import { type ForkOptions, type ForkResult, type ForkRun, forkSandbox, runOnForks } from './fork.js';
import type { GetOrCreateOptions } from './get-or-create.js';
import type { SandboxDetail, SandboxEgress, SandboxInfo, SandboxMetrics } from './info.js';
import { type SandboxLogs, sandboxLogs } from './logs.js';
import type {
  ConnectSandboxOptions,
  CreateSandboxOptions,
  EgressOptions,
  ListSandboxesOptions,
} from './options.js';
import { fetchPort, type PortRequestInit, type PortRoute, portHost, portRoute, portUrl } from './ports.js';
import type { PreviewLinkOptions } from './preview-link.js';
import {
  connectSandbox,
  createSandbox,
  createSandboxSnapshot,
  getSandbox,
  getSandboxEgress,
  getSandboxMetrics,
  killSandbox,
  listSandboxes,
  pauseSandbox,
  refreshSandbox,
  type SandboxTarget,
  setSandboxTimeout,
  updateSandboxNetwork,
} from './sandbox-api.js';
import type { WaitForPortOptions } from './wait-for-port.js';

/**
 * A handle of one sandbox. `await using sandbox = await Sandbox.create()` kills it at the end of the block. The static
 * methods use a client made from the environment; `client.sandboxes` has the same for a client of your own.
 */
export class Sandbox {
  /** Identifier of the sandbox. */
  readonly sandboxId: string;
  /** Identifier of the template it was created from. */
  readonly templateId: string;
  /** Version of the daemon inside. */
  readonly envdVersion: string;
  /** Programs: run them, start them, feed them. */
  readonly commands: Commands;
  /** Files and directories. */
  readonly files: Files;
  /** Terminals. */
  readonly pty: Pty;
  /** Repositories inside, and credentials for them that stay outside. */
  readonly git: Git;
  /** Kernels of the code interpreter, each with variables of its own. Of sandboxes of the template `code-interpreter`. */
  readonly codeContexts: CodeContexts;
  /** Output of the sandbox's programs: `await sandbox.logs(query)`, `sandbox.logs.follow()`. */
  readonly logs: SandboxLogs;
  /**
   * Runs a command line with every interpolated value quoted as one word: `` await sandbox.$`grep ${pattern} ${file}` ``.
   * Lists become several words. `` sandbox.$({ cwd, envs })`...` `` takes the options of `commands.run`.
   * @wire process.Process/Start
   */
  readonly $: Shell;
  readonly #core: ClientCore;
  readonly #target: SandboxTarget;
  readonly #connection: DaemonConnection;

  /** @internal Handles come from `create`, `connect`, `get` and `fork`. */
  constructor(core: ClientCore, target: SandboxTarget) {
    this.#core = core;
    this.#target = target;
    this.sandboxId = target.sandboxId;
    this.templateId = target.templateId;
    this.envdVersion = target.envdVersion;
    this.#connection = new DaemonConnection(core, target);
    this.commands = new Commands(this.#connection);
    this.files = new Files(this.#connection);
    this.pty = new Pty(this.#connection);
    this.codeContexts = new CodeContexts(() => this.#interpreter());
    this.logs = sandboxLogs(core, target.sandboxId);
    this.$ = shellFor(this.commands);
    this.git = new Git({
      run: (line, options) => this.commands.run(line, options),
      readNetwork: async (options) => {
        const { network, allowInternetAccess } = await this.info(options);
        return { ...network, allowInternetAccess };
      },
      replaceNetwork: (network, options) => this.updateNetwork(network, options),
    });
  }

  /** Short for `sandboxId`. */
  get id(): string {
    return this.sandboxId;
  }

  /**
   * Token of the sandbox's daemon, sent as `X-Access-Token`. Who has it can do in the sandbox what this handle can; it is
   * the same over pause and resume. Undefined when the service gave none.
   */
  get accessToken(): string | undefined {
    return this.#target.accessToken;
  }

  /**
   * Token of the sandbox's ports, sent as `Svc-Traffic-Access-Token`, when they are private
   * (`network.allowPublicTraffic: false`); undefined when they are public. `fetch` sends it.
   */
  get trafficAccessToken(): string | undefined {
    return this.#target.trafficToken;
  }

  /** The generated clients of the sandbox's daemon, as its default user: no policy, errors of the Connect library. */
  get daemon(): Promise<DaemonClient> {
    return this.#connection.client();
  }

  /**
   * Creates a sandbox and waits until it is ready.
   * @throws TemplateNotFoundError, RateLimitError, CapacityError, AuthenticationError
   * @example
   * await using sandbox = await Sandbox.create({ timeoutMs: 300_000 });
   * @wire createSandboxV2
   */
  static create(options: CreateSandboxOptions): Promise<Sandbox>;
  static create(template?: string, options?: Omit<CreateSandboxOptions, 'template'>): Promise<Sandbox>;
  static async create(first?: string | CreateSandboxOptions, rest?: CreateSandboxOptions): Promise<Sandbox> {
    const core = defaultCore();
    return new Sandbox(core, await createSandbox(core, first, rest));
  }

  /**
   * Gives the sandbox of a name: connects to the one whose `metadata.name` it is, resuming it when it is paused, or creates
   * it. One comes of it, however many ask at once. The settings hold for a new one; `timeoutMs` for both.
   * @throws InvalidRequestError, TemplateNotFoundError, RateLimitError, CapacityError, TimeoutError
   * @example
   * const sandbox = await Sandbox.getOrCreate({ name: 'user-42', timeoutMs: 600_000, autoPause: true });
   * @wire listSandboxesV2, connectSandboxV2, createSandboxV2
   */
  static async getOrCreate(options: GetOrCreateOptions): Promise<Sandbox> {
    const core = defaultCore();
    const { getOrCreateSandbox } = await import('./lazy.js');
    return new Sandbox(core, await getOrCreateSandbox(core, options));
  }

  /**
   * Gives a handle of a running sandbox, or resumes a paused one.
   * @throws SandboxNotFoundError
   * @example
   * const sandbox = await Sandbox.connect(sandboxId, { timeoutMs: 300_000 });
   * @wire connectSandboxV2
   */
  static async connect(sandboxId: string, options: ConnectSandboxOptions = {}): Promise<Sandbox> {
    const core = defaultCore();
    return new Sandbox(core, await connectSandbox(core, sandboxId, options));
  }

  /**
   * Gives a handle of a sandbox as it is: a paused one stays paused.
   * @throws SandboxNotFoundError
   * @example
   * const sandbox = await Sandbox.get(sandboxId);
   * @wire getSandbox
   */
  static async get(sandboxId: string, options: RequestOptions = {}): Promise<Sandbox> {
    const core = defaultCore();
    return new Sandbox(core, (await getSandbox(core, sandboxId, options)).target);
  }

  /**
   * Lists sandboxes: await a page, or iterate over all.
   * @example
   * for await (const { sandboxId, state } of Sandbox.list()) console.log(sandboxId, state);
   * @wire listSandboxesV2
   */
  static list(options: ListSandboxesOptions = {}): PageList<SandboxInfo> {
    return listSandboxes(defaultCore(), options);
  }

  /**
   * Kills a sandbox, running or paused. False when there was none.
   * @example
   * await Sandbox.kill(sandboxId);
   * @wire killSandbox
   */
  static kill(sandboxId: string, options: RequestOptions = {}): Promise<boolean> {
    return killSandbox(defaultCore(), sandboxId, options);
  }

  /**
   * Kills the sandbox, running or paused. False when it was deleted already.
   * @example
   * await sandbox.kill();
   * @wire killSandbox
   */
  kill(options: RequestOptions = {}): Promise<boolean> {
    return killSandbox(this.#core, this.sandboxId, options);
  }

  /**
   * Stores the sandbox and stops it. False when it was paused already.
   * @param options `memory: false` keeps its files only. Default: the service's, files and memory.
   * @throws ConflictError while something else is done to the sandbox
   * @example
   * await sandbox.pause();
   * @wire pauseSandbox
   */
  pause(options: RequestOptions & { memory?: boolean | undefined } = {}): Promise<boolean> {
    return pauseSandbox(this.#core, this.sandboxId, options);
  }

  /**
   * Resumes the sandbox when it is paused. When it runs, its time to live is made at least as long as `timeoutMs`.
   * @throws SandboxNotFoundError, InvalidRequestError for more time than the team may use, ConflictError with `autoPause`
   *   when it runs
   * @example
   * await sandbox.resume({ timeoutMs: 600_000 });
   * @wire connectSandboxV2, resumeSandbox
   */
  async resume(options: ConnectSandboxOptions = {}): Promise<void> {
    await connectSandbox(this.#core, this.sandboxId, options);
  }

  /**
   * Makes the sandbox live at least this long from now; never shortens its time to live. A run never gets longer than
   * the team's `limits.maxTimeoutMs`, counted from its start.
   * @param durationMs rounded up to whole seconds, at most an hour; below 15 s means 15 s. Default: 15 s.
   * @throws SandboxNotFoundError also when it is paused; InvalidRequestError for more time than the team may use
   * @example
   * await sandbox.refresh(60_000);
   * @wire refreshSandbox
   */
  refresh(durationMs?: number, options: RequestOptions = {}): Promise<void> {
    return refreshSandbox(this.#core, this.sandboxId, durationMs, options);
  }

  /**
   * Sets the time to live, counted from now; may shorten it. A run never gets longer than the team's
   * `limits.maxTimeoutMs`, counted from its start; `info().endAt` is its end.
   * @param timeoutMs rounded up to whole seconds, at most `limits.maxTimeoutMs`; 0 ends it now.
   * @throws SandboxNotFoundError also when it is paused; InvalidRequestError for more time than the team may use
   * @example
   * await sandbox.setTimeout(30 * 60_000);
   * @wire setSandboxTimeout
   */
  setTimeout(timeoutMs: number, options: RequestOptions = {}): Promise<void> {
    return setSandboxTimeout(this.#core, this.sandboxId, timeoutMs, options);
  }

  /**
   * Reads everything about the sandbox.
   * @throws SandboxNotFoundError
   * @example
   * const { endAt, metadata } = await sandbox.info();
   * @wire getSandbox
   */
  async info(options: RequestOptions = {}): Promise<SandboxDetail> {
    return (await getSandbox(this.#core, this.sandboxId, options, 'sandbox.info')).detail;
  }

  /**
   * Reads samples of what the sandbox uses, oldest first. Empty right after its start.
   * @example
   * const latest = (await sandbox.metrics()).at(-1);
   * @wire getSandboxMetrics
   */
  metrics(
    options: RequestOptions & { start?: Date | undefined; end?: Date | undefined } = {},
  ): Promise<SandboxMetrics[]> {
    return getSandboxMetrics(this.#core, this.sandboxId, options);
  }

  /**
   * Reads what left the sandbox, and what its network settings kept from leaving, by destination.
   * @throws SandboxNotFoundError
   * @example
   * const denied = (await sandbox.egress()).destinations.filter(({ denied }) => denied > 0);
   * @wire getSandboxEgress
   */
  egress(options: RequestOptions = {}): Promise<SandboxEgress> {
    return getSandboxEgress(this.#core, this.sandboxId, options);
  }

  /**
   * Reads what the sandbox uses at this moment. `metrics()` gives what it used before.
   * @throws SandboxGoneError
   * @example
   * const { memoryUsedBytes, memoryTotalBytes } = await sandbox.usage();
   * @wire getMetrics
   */
  usage(options: RequestOptions = {}): Promise<SandboxMetrics> {
    return readUsage(this.#connection, options);
  }

  /**
   * Reads the variables that every program of the sandbox gets: those it was created with, and `SVC_*`.
   * @throws SandboxGoneError
   * @example
   * const { SVC_SANDBOX_ID } = await sandbox.envs();
   * @wire getEnvs
   */
  envs(options: RequestOptions = {}): Promise<Record<string, string>> {
    return readEnvs(this.#connection, options);
  }

  /**
   * Stores the state of the running sandbox, which keeps running. New sandboxes are created from it as from a template.
   * @example
   * const { snapshotId } = await sandbox.createSnapshot({ name: 'prepared' });
   * @wire createSnapshot
   */
  createSnapshot(
    options: RequestOptions & { name?: string | undefined; memory?: boolean | undefined } = {},
  ): Promise<SnapshotInfo> {
    return createSandboxSnapshot(this.#core, this.sandboxId, options);
  }

  /**
   * Makes running copies of the sandbox, memory included. One that fails is an entry with its error; nothing is thrown
   * for it. The source is paused for a moment.
   * @throws SandboxNotFoundError, ConflictError when the source cannot be forked at all
   * @example
   * for (const fork of await sandbox.fork({ count: 3, timeoutMs: 60_000 })) {
   *   if (fork.ok) await fork.sandbox.commands.run('./try-one');
   * }
   * @wire forkSandbox
   */
  async fork(options: ForkOptions = {}): Promise<ForkResult<Sandbox>[]> {
    const forks = await forkSandbox(this.#core, this.sandboxId, options);
    return forks.map((fork) =>
      fork.ok ? { ok: true, sandbox: new Sandbox(this.#core, fork.sandbox) } : fork,
    );
  }

  /**
   * Forks the sandbox, runs a function on each fork, and kills each fork when its function has ended or thrown.
   * @param options `concurrency`: runs at once, default all; `timeoutMs`: time to live of the forks, which must
   *   cover every run. Default: the service's, 15 s.
   * @returns one entry a fork: the function's value, or what it threw, or why there was no fork.
   * @example
   * const results = await sandbox.withForks(
   *   8,
   *   async (fork, index) => (await fork.commands.run(`./try-variant ${index}`)).stdout,
   *   { timeoutMs: 120_000 },
   * );
   * @wire forkSandbox, killSandbox
   */
  async withForks<Value>(
    count: number,
    run: (fork: Sandbox, index: number) => Promise<Value> | Value,
    options: Omit<ForkOptions, 'count'> & { concurrency?: number | undefined } = {},
  ): Promise<ForkRun<Value>[]> {
    const { concurrency, ...rest } = options;
    return runOnForks(await this.fork({ ...rest, count }), run, {
      concurrency,
      signal: rest.signal,
    });
  }

  /**
   * Replaces what the running sandbox may reach. What is left out is cleared.
   * @example
   * await sandbox.updateNetwork({ allowOut: ['pypi.org'], denyOut: ['0.0.0.0/0'] });
   * @wire updateSandboxNetwork
   */
  updateNetwork(
    network: EgressOptions & { allowInternetAccess?: boolean | undefined },
    options: RequestOptions = {},
  ): Promise<void> {
    return updateSandboxNetwork(this.#core, this.sandboxId, network, options);
  }

  /**
   * Returns true while the sandbox runs: its daemon answers. False when the gateway knows no such running sandbox.
   * @throws ServerError when neither is certain
   * @example
   * if (!(await sandbox.isRunning())) console.log('it is deleted or paused');
   * @wire GET /health
   */
  async isRunning(options: RequestOptions = {}): Promise<boolean> {
    const health = await this.#connection.probe(options);
    if (health !== 'unknown') return health === 'running';
    throw new ServerError(
      'sandbox.isRunning: the gateway gave no usable answer. Check sandboxUrl (SVC_SANDBOX_URL).',
      {
        operation: 'sandbox.isRunning',
        retryable: true,
      },
    );
  }

  /**
   * Runs a cell of code in a kernel that keeps what earlier cells defined, forks of the sandbox included. A cell that fails
   * is an execution with `error`; nothing is thrown for it. Cells of one context run one after another. Needs the template
   * `code-interpreter`.
   * @throws TimeoutError after `timeoutMs`, ConflictError (`no_code_interpreter`) when the sandbox has no interpreter,
   *   NotFoundError for a context that is deleted, SandboxGoneError
   * @example
   * await using sandbox = await Sandbox.create({ template: 'code-interpreter' });
   * await sandbox.runCode('x = 20');
   * console.log((await sandbox.runCode('x + 22')).text);
   * @wire interpreter POST /execute
   */
  async runCode(code: string, options: RunCodeOptions = {}): Promise<Execution> {
    return (await this.#interpreter()).runCode(code, options);
  }

  async #interpreter(): Promise<Interpreter> {
    const { openInterpreter } = await import('./lazy.js');
    const { sandboxId } = this;
    return openInterpreter({
      core: this.#core,
      sandboxId,
      fetch: (port, path, init) => this.fetch(port, path, init),
    });
  }

  /**
   * Waits until something inside listens on a port. Resumes a paused sandbox that has `autoResume`.
   * @param options `timeoutMs`: longest wait, default 60 s, 0 for none.
   * @throws TimeoutError after `timeoutMs`; SandboxGoneError; PermissionError when the port is private and not the caller's
   * @example
   * await sandbox.commands.start('python3 -m http.server 8000');
   * await sandbox.waitForPort(8000);
   * @wire gateway
   */
  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    const { waitForPort } = await import('./lazy.js');
    return waitForPort(this.#core, this.#target, port, options);
  }

  /**
   * Address under which a port of the sandbox is reached without any header. Nothing is sent. For browsers and for hosted
   * services. Under the default domain of a local server, `*.svc.localhost`, browsers and curl find it, but Node.js
   * and most other programs cannot resolve such names: use `fetch`, `routeTo`, or `svc sandbox port --local` there.
   *
   * With `signed` it is a link that opens a private port (`network.allowPublicTraffic: false`) until it expires, to
   * everybody who has it. It holds over pause and resume, ends with the sandbox, and opens no fork. The token is not in it.
   * @throws InvalidRequestError for a port or time out of range; with `signed`, when the ports are public
   * @example
   * console.log(`open ${sandbox.url(3000)} in a browser`);
   * console.log(`for an hour: ${await sandbox.url(3000, { signed: { expiresInMs: 3_600_000 } })}`);
   */
  url(port: number): string;
  url(port: number, options: { signed: PreviewLinkOptions }): Promise<string>;
  url(port: number, options?: { signed: PreviewLinkOptions }): string | Promise<string> {
    const url = portUrl(this.#core, this.#target, port);
    if (options === undefined) return url;
    return import('./lazy.js').then(({ previewLink }) =>
      previewLink(this.#core, this.#target, port, options.signed),
    );
  }

  /**
   * Host of a port of the sandbox: `<port>-<sandboxId>.<domain>`. Nothing is sent. Resolves where `url` does.
   * @example
   * const socket = new WebSocket(`wss://${sandbox.host(3000)}/live`);
   */
  host(port: number): string {
    return portHost(this.#core, this.#target, port);
  }

  /**
   * Address and headers with which any HTTP or WebSocket client reaches a port of the sandbox, private ones included, also
   * where its host name cannot be resolved. Nothing is sent. The headers may hold a token: keep them out of logs.
   * @example
   * const { url, headers } = sandbox.routeTo(3000);
   * const answer = await fetch(`${url}/health`, { headers });
   */
  routeTo(port: number): PortRoute {
    return portRoute(this.#core, this.#target, port);
  }

  /**
   * Sends a request to a service inside the sandbox. Works where its host name cannot be resolved, and for sandboxes
   * whose ports are private. The answer is given as it is, with any status; redirects are not followed.
   * @param init as for `fetch`; `requestTimeoutMs` limits the time until the answer's headers.
   * @throws SandboxGoneError is not thrown: the gateway's 502 is an answer too
   * @example
   * const answer = await sandbox.fetch(3000, '/api/items', { method: 'POST', body: '{}' });
   * @wire gateway
   */
  fetch(port: number, path = '/', init: PortRequestInit = {}): Promise<Response> {
    return fetchPort(this.#core, this.#target, port, path, init);
  }

  /** Kills the sandbox at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

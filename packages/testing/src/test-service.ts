import { defaultDaemonPort } from '@svc/daemon';
import type { ClientOptions } from '@svc/sdk';
import { Client } from '@svc/sdk';
import { linkSignals, Stop } from './answers/link-signals.js';
import { answerBroken, connectionReset } from './answers/network-errors.js';
import { type Reply, ReplyList } from './answers/reply-list.js';
import { stream } from './answers/stream.js';
import { TestClock } from './clock/test-clock.js';
import { type CommandMatch, type Script, ScriptList } from './commands/script.js';
import { daemonOperationOf } from './contract/names.js';
import { matchOperation } from './contract/operations.js';
import { answerDaemon } from './daemon/daemon-routes.js';
import { admit, gatewayAnswer, type PortHandler, type Target, targetOf } from './daemon/gateway.js';
import { befall, refusalOf } from './faults/befall.js';
import { type Fault, FaultList } from './faults/fault-list.js';
import { FileTree } from './files/file-tree.js';
import { answerPlatform } from './platform/routes.js';
import { type TeamLimits, World } from './platform/world.js';
import type { TestSandbox } from './sandboxes/test-sandbox.js';

/** Settings of a test service. */
export interface TestServiceOptions {
  /** Default: one of its own, which stands at the time of the machine until the test moves it. */
  clock?: TestClock | undefined;
  /** Limits of the team. Default: 24 h for one run, 10 000 sandboxes at once. */
  limits?: Partial<TeamLimits> | undefined;
}

/** A request that reached the service. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** The operation of the API, as `createSandboxV2`, or the RPC, as `process.Process/Start`; undefined when it is none. */
  readonly operation: string | undefined;
  readonly headers: Headers;
  /** The body of a request to the platform API as text; empty for all others. */
  readonly body: string;
}

/** The way of an answer to its caller. */
interface Way {
  /** Fires when the caller left, or the service was closed. */
  readonly signal: AbortSignal;
  readonly seen: { fault: Fault | undefined };
  /** Breaks the connection. */
  breakOff(): void;
}

interface Asked extends Way {
  readonly url: URL;
  readonly target: Target | undefined;
  /** Body of a request to the platform API. */
  readonly text: string;
  readonly fault: Fault | undefined;
}

/** Where clients find a test service; nothing ever connects there. */
const domain = 'service.test';

/**
 * The service in memory, for tests of programs that use this SDK: sandboxes live and end by a clock that the test moves,
 * commands do what the test scripts, files are there, nothing is sent. Each has its own world: tests beside each other do
 * not see each other.
 * @example
 * const service = new TestService();
 * service.onCommand('python3 main.py', { stdout: 'done\n' });
 * const sandbox = await service.client().sandboxes.create();
 */
export class TestService {
  readonly clock: TestClock;
  /** Failures of the service. */
  readonly faults = new FaultList();
  /** The only key that it takes. */
  readonly apiKey = 'svc_7e57';
  /** Addresses, key and `fetch`, to be spread into the options of a client. */
  readonly options: Required<Pick<ClientOptions, 'apiKey' | 'apiUrl' | 'sandboxUrl' | 'domain' | 'fetch'>>;
  readonly #world: World;
  readonly #scripts = new ScriptList();
  readonly #replies = new ReplyList();
  readonly #ports = new Map<number, PortHandler>();
  readonly #requests: SeenRequest[] = [];
  readonly #clients: Client[] = [];
  readonly #closed = new Stop();

  constructor(options: TestServiceOptions = {}) {
    const { clock = new TestClock(), limits = {} } = options;
    this.clock = clock;
    this.options = {
      apiKey: this.apiKey,
      apiUrl: `http://api.${domain}`,
      sandboxUrl: `http://sandbox.${domain}`,
      domain,
      fetch: this.fetch,
    };
    this.#world = new World({
      clock,
      domain,
      apiKey: this.apiKey,
      limits: { maxTimeToLiveSeconds: 86_400, maxConcurrentSandboxes: 10_000, ...limits },
    });
  }

  /** Every request so far, oldest first. */
  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  /** All sandboxes that were ever made here, oldest first. */
  get sandboxes(): readonly TestSandbox[] {
    return [...this.#world.everySandbox.values()];
  }

  /**
   * A client of this service, closed together with it.
   * @example
   * const client = service.client({ maxRetries: 0 });
   */
  client(options: ClientOptions = {}): Client {
    const client = new Client({ logLevel: 'off', ...this.options, ...options });
    this.#clients.push(client);
    return client;
  }

  /**
   * One of its sandboxes, seen from behind; those that have ended too.
   * @throws Error when there is none with this id
   * @example
   * service.sandbox(sandbox.id).kill();
   */
  sandbox(id: string): TestSandbox {
    const found = this.#world.everySandbox.get(id);
    if (found) return found;
    const known = [...this.#world.everySandbox.keys()].slice(-5).join(', ') || 'none yet';
    throw new Error(`service.sandbox: no sandbox '${id}' was made by this service. The last ones: ${known}.`);
  }

  /**
   * Says what a command does: one that is this line, fits the pattern, or passes the test. A later one wins.
   * @example
   * service.onCommand(/^pip install (\S+)/, ({ match }) => ({ stdout: `Installed ${match?.[1]}\n` }));
   */
  onCommand(match: CommandMatch, script: Script): this {
    this.#scripts.add(match, script);
    return this;
  }

  /**
   * Says what a server inside the sandboxes answers on a port.
   * @example
   * service.onPort(3000, () => new Response('hello'));
   */
  onPort(port: number, handler: PortHandler): this {
    this.#ports.set(port, handler);
    return this;
  }

  /**
   * Answers requests to `METHOD /path` itself, where `{name}` stands for one part of the path: for what it does not play.
   * Several replies are used one after another, the last one for all that follow. A later `on` for the same place wins.
   * @example
   * service.on('GET /team', json(500, { code: 500, message: 'broken' }));
   */
  on(place: string, ...replies: [Reply, ...Reply[]]): this {
    this.#replies.add(place, replies);
    return this;
  }

  /**
   * Adds a template, with files that its sandboxes start with. There is `base` from the start.
   * @example
   * service.addTemplate('data-science', { files: { 'notebook.ipynb': '{}' } });
   */
  addTemplate(alias: string, options: { files?: Readonly<Record<string, string | Uint8Array>> } = {}): this {
    const files = new FileTree(() => this.clock.nowMs);
    for (const [path, content] of Object.entries(options.files ?? {})) files.write(path, content);
    this.#world.addTemplate(alias, files);
    return this;
  }

  /** Takes the place of `fetch`: `new Client({ fetch: service.fetch })`. */
  readonly fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = input instanceof Request ? input : new Request(input, init);
    const link = linkSignals([request.signal, init?.signal], this.#closed);
    const { signal } = link;
    signal.throwIfAborted();
    const seen = { fault: undefined as Fault | undefined };
    const breakOff = () => link.abort(answerBroken());
    const answer = this.#answer(request, { signal, breakOff, seen });
    try {
      const response = await untilAborted(answer, signal);
      const { cutAfterBytes } = seen.fault ?? {};
      // Work that still runs for the answer learns that nobody reads it.
      const onEnd = () => {
        link.release();
        link.abort(new Error('The answer is not wanted any more.'));
      };
      const cut =
        cutAfterBytes === undefined ? undefined : { afterBytes: cutAfterBytes, error: answerBroken };
      return stream(response, { signal, cut, onEnd });
    } catch (error) {
      link.release();
      throw error;
    }
  };

  /**
   * Ends it: open streams of its clients end, every later request fails.
   * @example
   * service.close();
   */
  close(): void {
    for (const client of this.#clients) client.close();
    for (const sandbox of this.#world.sandboxes.values()) sandbox.processes.dropAll();
    this.#closed.fire(
      new Error('The test service was closed: a request was made, or still open, after its end.'),
    );
  }

  /** As `close`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** As `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  async #answer(request: Request, way: Way): Promise<Response> {
    const { signal } = way;
    const url = new URL(request.url);
    const target = targetOf(url, request.headers);
    // A reply of the test's own may want to read the body too.
    const text = target ? '' : await request.clone().text();
    const operation = operationOf(request, url, target);
    this.#note(request, url, operation, text);
    const sandboxId = sandboxIdOf(url, target);
    const fault = this.faults.take({ operation, sandboxId });
    if (fault) {
      const sandbox = sandboxId === undefined ? undefined : this.#world.sandboxes.get(sandboxId);
      await befall(fault, { clock: this.clock, sandbox, signal });
      const refusal = refusalOf(fault);
      if (refusal) return refusal.toResponse();
    }
    const response = await this.#carryOut(request, { url, target, text, fault, ...way });
    if (fault?.connection === 'reset') throw connectionReset();
    // Output of commands is counted where it is made, without what carries it.
    if (operation !== 'process.Process/Start' && operation !== 'process.Process/Connect')
      way.seen.fault = fault;
    return response;
  }

  async #carryOut(request: Request, asked: Asked): Promise<Response> {
    const { url, target, text, fault, signal, breakOff } = asked;
    const scripted = await this.#replies.answer(request, url);
    if (scripted) return scripted;
    if (!target) return answerPlatform(request, url, text, this.#world);
    if (target.kind === 'refused') return target.response;
    const { sandboxId, port } = target;
    const admitted = admit(this.#world.sandboxes.get(sandboxId), target, url, request.headers);
    if ('response' in admitted) return admitted.response;
    const { sandbox } = admitted;
    if (port !== defaultDaemonPort) {
      const handler = this.#ports.get(port);
      if (handler) return handler(request, sandbox);
      return gatewayAnswer(502, sandboxId, `The sandbox is running but port ${port} is not open`, { port });
    }
    const link = linkSignals([signal], sandbox.running);
    signal.addEventListener('abort', link.release, { once: true });
    const { clock, faults } = this;
    return answerDaemon(request, url, {
      sandbox,
      clock,
      scripts: this.#scripts,
      signal: link.signal,
      fault,
      faultOf: (command) => faults.take({ operation: 'process.Process/Start', sandboxId, command }),
      breakOff,
    });
  }

  #note(request: Request, url: URL, operation: string | undefined, body: string): void {
    const { method, headers } = request;
    this.#requests.push({ method, path: `${url.pathname}${url.search}`, operation, headers, body });
  }
}

/** Returns the operation that a request means, in the names of the contract. */
function operationOf({ method }: Request, { pathname }: URL, target: Target | undefined): string | undefined {
  if (target)
    return target.kind === 'sandbox' && target.port === defaultDaemonPort
      ? daemonOperationOf(method, pathname)
      : undefined;
  const match = matchOperation(method, pathname);
  return match.kind === 'operation' ? match.operation.id : undefined;
}

/** The sandbox that a request is about. */
function sandboxIdOf({ pathname }: URL, target: Target | undefined): string | undefined {
  if (target) return target.kind === 'sandbox' ? target.sandboxId : undefined;
  return /^(?:\/v2)?\/sandboxes\/([a-z0-9]+)/.exec(pathname)?.[1];
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

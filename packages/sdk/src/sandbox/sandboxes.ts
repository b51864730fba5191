import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import type { GetOrCreateOptions } from './get-or-create.js';
import type { LogEntry, SandboxInfo, SandboxMetrics } from './info.js';
import type { FollowLogsOptions, LogQuery } from './log-query.js';
import { sandboxLogs } from './logs.js';
import type { ConnectSandboxOptions, CreateSandboxOptions, ListSandboxesOptions } from './options.js';
import { Sandbox } from './sandbox.js';
import {
  connectSandbox,
  createSandbox,
  getSandbox,
  killSandbox,
  listSandboxes,
  pauseSandbox,
} from './sandbox-api.js';
import { fromMetric } from './wire.js';

/** Most ids that one metrics request may name. */
const metricsBatch = 100;

/** The sandboxes of the team. */
export class Sandboxes {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Creates a sandbox and waits until it is ready. Only options that are given are sent.
   * @throws TemplateNotFoundError, RateLimitError, CapacityError, AuthenticationError
   * @example
   * const sandbox = await client.sandboxes.create('base', { metadata: { job: '42' } });
   * @wire createSandboxV2
   */
  create(options: CreateSandboxOptions): Promise<Sandbox>;
  create(template?: string, options?: Omit<CreateSandboxOptions, 'template'>): Promise<Sandbox>;
  async create(first?: string | CreateSandboxOptions, rest: CreateSandboxOptions = {}): Promise<Sandbox> {
    return new Sandbox(this.#core, await createSandbox(this.#core, first, rest));
  }

  /**
   * Gives the sandbox of a name: connects to the one whose `metadata.name` it is, resuming it when it is paused, or creates
   * it. One comes of it, however many ask at once. The settings hold for a new one; `timeoutMs` for both.
   * @throws InvalidRequestError, TemplateNotFoundError, RateLimitError, CapacityError, TimeoutError
   * @example
   * const sandbox = await client.sandboxes.getOrCreate({ name: 'user-42', timeoutMs: 600_000, autoPause: true });
   * @wire listSandboxesV2, connectSandboxV2, createSandboxV2
   */
  async getOrCreate(options: GetOrCreateOptions): Promise<Sandbox> {
    const { getOrCreateSandbox } = await import('./lazy.js');
    return new Sandbox(this.#core, await getOrCreateSandbox(this.#core, options));
  }

  /**
   * Gives a handle of a running sandbox, or resumes a paused one.
   * @throws SandboxNotFoundError, InvalidRequestError for more time than the team may use, ConflictError with `autoPause`
   *   when it runs
   * @example
   * const sandbox = await client.sandboxes.connect(sandboxId);
   * @wire connectSandboxV2, resumeSandbox
   */
  async connect(sandboxId: string, options: ConnectSandboxOptions = {}): Promise<Sandbox> {
    return new Sandbox(this.#core, await connectSandbox(this.#core, sandboxId, options));
  }

  /**
   * Gives a handle of a sandbox as it is: a paused one stays paused, and no time to live changes.
   * @throws SandboxNotFoundError
   * @example
   * const sandbox = await client.sandboxes.get(sandboxId);
   * @wire getSandbox
   */
  async get(sandboxId: string, options: RequestOptions = {}): Promise<Sandbox> {
    return new Sandbox(this.#core, (await getSandbox(this.#core, sandboxId, options)).target);
  }

  /**
   * Lists sandboxes: `await` a page, iterate over all with `for await`, or over `pages()`. A page's `total` is the
   * number of all running matches.
   * @example
   * for await (const info of client.sandboxes.list({ metadata: { job: '42' } })) console.log(info.sandboxId);
   * @wire listSandboxesV2
   */
  list(options: ListSandboxesOptions = {}): PageList<SandboxInfo> {
    return listSandboxes(this.#core, options);
  }

  /**
   * Kills a sandbox, running or paused. False when there was none.
   * @example
   * await client.sandboxes.kill(sandboxId);
   * @wire killSandbox
   */
  kill(sandboxId: string, options: RequestOptions = {}): Promise<boolean> {
    return killSandbox(this.#core, sandboxId, options);
  }

  /**
   * Stores a sandbox and stops it. False when it was paused already.
   * @throws SandboxNotFoundError, ConflictError while something else is done to the sandbox
   * @example
   * await client.sandboxes.pause(sandboxId, { memory: false });
   * @wire pauseSandbox
   */
  pause(
    sandboxId: string,
    options: RequestOptions & { memory?: boolean | undefined } = {},
  ): Promise<boolean> {
    return pauseSandbox(this.#core, sandboxId, options);
  }

  /**
   * Reads what the programs of a sandbox printed, while it runs, is paused, and after it was killed. An unknown one
   * gives an empty list.
   * @example
   * const errors = await client.sandboxes.logs(sandboxId, { level: 'error', limit: 50 });
   * @wire getSandboxLogsV2
   */
  logs(sandboxId: string, query: LogQuery = {}): Promise<LogEntry[]> {
    return sandboxLogs(this.#core, sandboxId)(query);
  }

  /**
   * Gives entries of the log of a sandbox, oldest first, as they come. Ends when the sandbox is deleted and everything was
   * read; leave the loop or abort the signal to end it earlier.
   * @example
   * for await (const { message } of client.sandboxes.followLogs(sandboxId)) console.log(message);
   * @wire getSandboxLogsV2, getSandbox
   */
  followLogs(sandboxId: string, options: FollowLogsOptions = {}): AsyncGenerator<LogEntry, void, undefined> {
    return sandboxLogs(this.#core, sandboxId).follow(options);
  }

  /**
   * Reads the latest sample of each sandbox, by id. Unknown ones, and those without a sample yet, are absent. Any
   * number of ids; they are asked for in batches of 100.
   * @example
   * const samples = await client.sandboxes.metrics([sandboxId]);
   * @wire listSandboxesMetrics
   */
  async metrics(
    sandboxIds: readonly string[],
    options: RequestOptions = {},
  ): Promise<Record<string, SandboxMetrics>> {
    const ids = [...new Set(sandboxIds)];
    const found: Record<string, SandboxMetrics> = {};
    for (let start = 0; start < ids.length; start += metricsBatch) {
      const query = { sandbox_ids: ids.slice(start, start + metricsBatch) };
      const context = { operation: 'sandboxes.metrics', resource: 'sandbox', options } as const;
      const data = await this.#core.platform.call(context, (platform, fetch) =>
        platform.GET('/sandboxes/metrics', { params: { query }, fetch }),
      );
      for (const [id, metric] of Object.entries(data.sandboxes)) found[id] = fromMetric(metric);
    }
    return found;
  }
}

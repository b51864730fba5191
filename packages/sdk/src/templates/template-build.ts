import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { sleep } from '../core/deadline.js';
import { defined } from '../core/wire-values.js';
import { BuildError } from '../errors/answer-errors.js';
import type { TemplateStep } from './definition.js';
import type { BuildLogEntry, BuildState, BuildStatus } from './template-info.js';
import { fromBuildLogEntry, fromBuildStatus } from './wire.js';

/** Options for reading the stored log of a build. */
export interface BuildLogQuery extends RequestOptions {
  /** Default: the service's, `forward`: the oldest first. */
  direction?: 'forward' | 'backward' | undefined;
  /** Where to start reading. */
  from?: Date | undefined;
  /** 0 to 100. Default: the service's, 100. */
  limit?: number | undefined;
  /** Lowest level. Default: all. */
  level?: BuildLogEntry['level'] | undefined;
}

/** Options for following a build. */
export interface FollowBuildOptions extends RequestOptions {
  /** Pause between two requests when nothing is new, ms. Default 200. */
  pollIntervalMs?: number | undefined;
}

/** Which build it is, and what the client knows of it. */
export interface BuildIdentity {
  templateId: string;
  buildId: string;
  /** Name it is built under, for messages. */
  name?: string | undefined;
  /** Its instructions, for messages. */
  steps?: readonly TemplateStep[] | undefined;
  /** Warnings that the service cannot know: the log begins with them. */
  warnings?: readonly string[] | undefined;
}

const defaultPollMs = 200;
const pageSize = 100;
const final: ReadonlySet<BuildStatus> = new Set(['ready', 'uploaded', 'error']);

/** A handle of one build of a template. */
export class TemplateBuild {
  readonly templateId: string;
  readonly buildId: string;
  readonly #core: ClientCore;
  readonly #identity: BuildIdentity;

  /** @internal Handles come from `client.templates.build` and `openBuild`. */
  constructor(core: ClientCore, identity: BuildIdentity) {
    this.#core = core;
    this.#identity = identity;
    this.templateId = identity.templateId;
    this.buildId = identity.buildId;
  }

  /**
   * Reads how the build is.
   * @throws TemplateNotFoundError
   * @example
   * const { status } = await build.status();
   * @wire getTemplateBuildStatus
   */
  async status(options: RequestOptions = {}): Promise<BuildState> {
    return (await this.#look({ offset: 0, limit: 0 }, options)).state;
  }

  /**
   * The build's log from its beginning, as it comes. Ends once the build is final and everything was given, whether it
   * succeeded or not: `wait` gives the result.
   * @throws TemplateNotFoundError
   * @example
   * for await (const { message } of build.logs()) console.log(message);
   * @wire getTemplateBuildStatus
   */
  async *logs(options: FollowBuildOptions = {}): AsyncGenerator<BuildLogEntry, void, undefined> {
    const { pollIntervalMs = defaultPollMs, signal } = options;
    for (const message of this.#identity.warnings ?? [])
      yield { timestamp: new Date(), level: 'warn', message, step: undefined };
    for (let offset = 0; ; ) {
      const { state, entries } = await this.#look({ offset, limit: pageSize }, options);
      offset += entries.length;
      yield* entries;
      if (entries.length > 0) continue;
      if (final.has(state.status)) return;
      await sleep(pollIntervalMs, signal);
    }
  }

  /**
   * Reads stored log entries.
   * @throws TemplateNotFoundError
   * @example
   * const errors = await build.readLogs({ level: 'error' });
   * @wire getTemplateBuildLogs
   */
  async readLogs(options: BuildLogQuery = {}): Promise<BuildLogEntry[]> {
    const { from, limit, direction, level } = options;
    const query = defined({ cursor: from?.getTime(), limit, direction, level });
    const data = await this.#core.platform.call(
      { operation: 'build.readLogs', resource: 'template', options },
      (platform, fetch) =>
        platform.GET('/templates/{templateID}/builds/{buildID}/logs', {
          params: { path: { templateID: this.templateId, buildID: this.buildId }, query },
          fetch,
        }),
    );
    return data.logs.map(fromBuildLogEntry);
  }

  /**
   * Waits until the template is usable. No time limit; `requestTimeoutMs` is that of each look.
   * @throws BuildError with the step that failed and why
   * @example
   * await build.wait();
   * @wire getTemplateBuildStatus
   */
  async wait(options: FollowBuildOptions = {}): Promise<BuildState> {
    const { pollIntervalMs = defaultPollMs, signal } = options;
    for (;;) {
      const state = await this.status(options);
      if (state.status === 'error') throw this.#failure(state);
      if (final.has(state.status)) return state;
      await sleep(pollIntervalMs, signal);
    }
  }

  async #look(
    page: { offset: number; limit: number },
    options: RequestOptions,
  ): Promise<{ state: BuildState; entries: BuildLogEntry[] }> {
    const data = await this.#core.platform.call(
      { operation: 'build.status', resource: 'template', options },
      (platform, fetch) =>
        platform.GET('/templates/{templateID}/builds/{buildID}/status', {
          params: {
            path: { templateID: this.templateId, buildID: this.buildId },
            query: { logsOffset: page.offset, limit: page.limit },
          },
          fetch,
        }),
    );
    return { state: fromBuildStatus(data), entries: data.logEntries.map(fromBuildLogEntry) };
  }

  #failure({ reason, buildId }: BuildState): BuildError {
    const { name = this.templateId, steps } = this.#identity;
    const step = reason?.step;
    const said = (reason?.message ?? 'The service gave no reason').replace(/\.$/, '');
    const where = step === undefined ? '' : ` at step ${describeStep(step, steps)}`;
    const printed = (reason?.logEntries ?? []).filter(({ message }) => message !== reason?.message);
    const last = printed.slice(-10).map((entry) => `\n  ${entry.message}`);
    return new BuildError(
      `The build of ${name} failed${where}: ${said}. (build ${buildId})${last.join('')}`,
      {
        step,
        operation: 'build.wait',
      },
    );
  }
}

const longestStep = 120;

function describeStep(step: string, steps: readonly TemplateStep[] | undefined): string {
  const found = /^\d+$/.test(step) ? steps?.[Number(step) - 1] : undefined;
  // The values of variables may be secret.
  if (!found || found.type === 'ENV' || found.type === 'ARG') return found ? `${step} (${found.type})` : step;
  const text = `${found.type} ${found.args.join(' ')}`;
  return `${step} (${text.length > longestStep ? `${text.slice(0, longestStep)}...` : text})`;
}

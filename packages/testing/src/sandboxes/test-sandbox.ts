import { Code, ConnectError } from '@connectrpc/connect';
import type { components } from '@svc/platform';
import { Stop } from '../answers/link-signals.js';
import type { TestClock } from '../clock/test-clock.js';
import type { SandboxControl } from '../commands/call.js';
import { FileTree } from '../files/file-tree.js';
import { ProcessList, type SeenCommand } from '../processes/process-list.js';

/** Why the streams of a sandbox end. */
export type StopReason = 'killed' | 'expired' | 'paused' | 'ended';

/** Messages that end the streams, in the words of the gateway. */
const stopTexts: Record<StopReason, string> = {
  paused: 'The sandbox was paused',
  killed: 'The sandbox was killed',
  expired: 'The sandbox reached the end of its time to live and was killed',
  ended: 'The sandbox ended unexpectedly',
};

/** Settings of a sandbox, as its create request gave them. */
export interface SandboxSettings {
  readonly templateId: string;
  readonly alias: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly envVars: Readonly<Record<string, string>>;
  readonly autoPause: boolean;
  readonly autoPauseMemory: boolean;
  readonly autoResume: boolean;
  readonly allowInternetAccess: boolean | null;
  readonly network: components['schemas']['SandboxNetworkConfig'] | undefined;
  readonly volumeMounts: readonly components['schemas']['SandboxVolumeMount'][];
  /** The sandbox that it is a fork of. */
  readonly forkedFrom?: string;
}

/** One sandbox of a test service, seen from behind: what the code under test did to it, and what happens to it. */
export class TestSandbox implements SandboxControl {
  readonly id: string;
  /** Token of its daemon. */
  readonly accessToken: string;
  /** Token of its private ports. */
  readonly trafficToken: string;
  /** Its files. */
  readonly files: FileTree;
  /** @internal Watchers that are asked for their events, by id. */
  readonly watchers = new Map<string, { close(): void }>();
  /** @internal */
  readonly processes: ProcessList;
  /** @internal Replaced as a whole. */
  settings: SandboxSettings;
  /** @internal */
  startedMs: number;
  /** @internal */
  endsMs: number;
  /** @internal */
  pausedMs: number | undefined;
  /** @internal How long a run lasts that nobody asked for, ms. */
  readonly timeoutMs: number;
  readonly #clock: TestClock;
  readonly #onEnd: (sandbox: TestSandbox, reason: StopReason) => void;
  #state: 'running' | 'paused' | 'gone' = 'running';
  #run = new Stop();
  #cancelEnd: (() => void) | undefined;
  #wakened: (() => void)[] = [];

  /** @internal */
  constructor(options: {
    id: string;
    clock: TestClock;
    settings: SandboxSettings;
    timeoutMs: number;
    files?: FileTree;
    /** Called when it is deleted or paused, by anyone. */
    onEnd: (sandbox: TestSandbox, reason: StopReason) => void;
  }) {
    const { id, clock, settings, timeoutMs, files, onEnd } = options;
    this.id = id;
    this.accessToken = `ea_test_access_token_${id}`;
    this.trafficToken = `ta_test_${id}`;
    this.settings = settings;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.files = files ?? new FileTree(() => clock.nowMs);
    this.processes = new ProcessList(clock, () => this.whenRunning());
    this.timeoutMs = timeoutMs;
    this.startedMs = clock.nowMs;
    this.endsMs = clock.nowMs;
    this.endAt(clock.nowMs + timeoutMs);
  }

  /** `gone`: it was killed, or its time was over. */
  get state(): 'running' | 'paused' | 'gone' {
    return this.#state;
  }

  get templateId(): string {
    return this.settings.templateId;
  }

  get metadata(): Readonly<Record<string, string>> {
    return this.settings.metadata ?? {};
  }

  /** When its time to live is over. Of a paused sandbox, when that was paused. */
  get expiresAt(): Date {
    return new Date(this.pausedMs ?? this.endsMs);
  }

  /** Commands and terminals that were started in it, oldest first. */
  get commands(): readonly SeenCommand[] {
    return this.processes.seen;
  }

  /** @internal Fires when the run ends; its reason is the error of open streams. */
  get running(): Stop {
    return this.#run;
  }

  /**
   * Kills it, as somebody else would: open streams end, later calls do not find it. False when it was deleted already.
   * @example
   * service.sandbox(sandbox.id).kill();
   */
  kill(): boolean {
    return this.stop('killed');
  }

  /**
   * Pauses it behind the back of the code under test. False when it did not run.
   * @example
   * service.sandbox(sandbox.id).pause();
   */
  pause(): boolean {
    return this.stop('paused');
  }

  /**
   * Ends it as a crash does, for instance when it used more memory than it may. False when it was deleted already.
   * @example
   * service.sandbox(sandbox.id).crash();
   */
  crash(): boolean {
    return this.stop('ended');
  }

  /** @internal */
  stop(reason: StopReason): boolean {
    if (this.#state === 'gone' || (reason === 'paused' && this.#state === 'paused')) return false;
    this.#cancelEnd?.();
    this.#state = reason === 'paused' ? 'paused' : 'gone';
    this.pausedMs = reason === 'paused' ? this.#clock.nowMs : undefined;
    if (this.#state === 'gone') this.processes.dropAll();
    this.#onEnd(this, reason);
    this.#run.fire(new ConnectError(stopTexts[reason], Code.Unavailable));
    return true;
  }

  /** @internal Starts another run of a paused sandbox. `memory` false: its programs have ended. */
  resume(timeoutMs: number, memory: boolean): void {
    if (!memory) this.processes.dropAll();
    this.#state = 'running';
    this.pausedMs = undefined;
    this.#run = new Stop();
    this.startedMs = this.#clock.nowMs;
    this.endAt(this.#clock.nowMs + timeoutMs);
    for (const wake of this.#wakened.splice(0)) wake();
  }

  /** @internal Moves the end of its time to live. */
  endAt(ms: number): void {
    this.endsMs = ms;
    this.#cancelEnd?.();
    const end = () => {
      if (!this.settings.autoPause) this.stop('expired');
      else if (this.stop('paused') && !this.settings.autoPauseMemory) this.processes.dropAll();
    };
    this.#cancelEnd = this.#clock.after(ms - this.#clock.nowMs, end, { isEnd: true });
  }

  /** @internal Settles at once while it runs, else when it runs again. */
  async whenRunning(): Promise<void> {
    while (this.#state === 'paused') await new Promise<void>((resolve) => this.#wakened.push(resolve));
  }
}

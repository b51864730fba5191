import type { components } from '@svc/platform';
import { Refusal } from '../answers/refusal.js';
import type { TestClock } from '../clock/test-clock.js';
import type { FileTree } from '../files/file-tree.js';
import { type SandboxSettings, type StopReason, TestSandbox } from '../sandboxes/test-sandbox.js';
import { readReference, readSandboxId } from './references.js';

type Schemas = components['schemas'];

/** A template, or a snapshot. */
export interface TemplateRecord {
  readonly id: string;
  readonly kind: 'template' | 'snapshot';
  readonly namespace: string;
  readonly aliases: readonly string[];
  readonly createdMs: number;
  readonly public: boolean;
  readonly builds: readonly TemplateBuildRecord[];
  readonly spawnCount: number;
  readonly lastSpawnedMs: number | undefined;
}

export interface TemplateBuildRecord {
  readonly id: string;
  readonly tags: readonly string[];
  readonly createdMs: number;
  /** Of a snapshot: what it was made of. */
  readonly source?: { readonly sandboxId: string; readonly settings: SandboxSettings };
  /** Files that sandboxes start with. */
  readonly files?: FileTree;
}

/** Limits of the team. */
export interface TeamLimits {
  maxTimeToLiveSeconds: number;
  maxConcurrentSandboxes: number;
}

/** Deprecated on the wire, but required. */
const clientId = 'svc00000';
/** The daemon whose behaviour the kit shows. */
export const daemonVersion = '0.6.13';

/** Everything that a test service knows. */
export class World {
  readonly clock: TestClock;
  readonly domain: string;
  readonly apiKey: string;
  readonly limits: TeamLimits;
  readonly team: {
    readonly id: string;
    readonly name: string;
    readonly slug: string;
    readonly createdMs: number;
  };
  /** Running and paused ones. */
  readonly sandboxes = new Map<string, TestSandbox>();
  /** All that ever were, for tests that look at them afterwards. */
  readonly everySandbox = new Map<string, TestSandbox>();
  readonly templates = new Map<string, TemplateRecord>();
  readonly volumes = new Map<string, { readonly id: string; readonly name: string }>();
  readonly secrets = new Map<string, Schemas['Secret'] & { readonly value: string }>();
  readonly webhooks = new Map<string, Schemas['Webhook']>();
  /** Answers to creates, by idempotency key. */
  readonly idempotent = new Map<string, { readonly body: string; readonly answer: Promise<unknown> }>();
  #lastId = 0;

  constructor(options: { clock: TestClock; domain: string; apiKey: string; limits: TeamLimits }) {
    const { clock, domain, apiKey, limits } = options;
    this.clock = clock;
    this.domain = domain;
    this.apiKey = apiKey;
    this.limits = limits;
    const createdMs = clock.nowMs;
    this.team = { id: this.uuid(), name: 'Test team', slug: 'test-team', createdMs };
    this.addTemplate('base');
  }

  /** The next number, in as many letters and digits as wanted. */
  id(length: number): string {
    this.#lastId += 1;
    return this.#lastId.toString(36).padStart(length, '0');
  }

  uuid(): string {
    const number = (this.#lastId += 1).toString(16).padStart(12, '0');
    return `00000000-0000-4000-8000-${number}`;
  }

  /** A template that is there, public as those of the service are. */
  addTemplate(alias: string, files?: FileTree): TemplateRecord {
    const createdMs = this.clock.nowMs;
    const template: TemplateRecord = {
      id: `tmpl${this.id(16)}`,
      kind: 'template',
      namespace: '',
      aliases: [alias],
      createdMs,
      public: true,
      builds: [{ id: this.uuid(), tags: ['default'], createdMs, ...(files && { files }) }],
      spawnCount: 0,
      lastSpawnedMs: undefined,
    };
    this.templates.set(template.id, template);
    return template;
  }

  /** The template that a name or an identifier means. */
  findTemplate({
    namespace,
    alias,
  }: {
    namespace: string | undefined;
    alias: string;
  }): TemplateRecord | undefined {
    const wanted = namespace === undefined ? [this.team.slug, ''] : [namespace];
    const named = wanted.flatMap((space) =>
      [...this.templates.values()].filter((each) => each.namespace === space && each.aliases.includes(alias)),
    );
    return named[0] ?? (namespace === undefined ? this.templates.get(alias) : undefined);
  }

  /** The build that a create request names. @throws Refusal 400, 404 */
  resolveTemplate(text: string): { template: TemplateRecord; build: TemplateBuildRecord } {
    const reference = readReference(text);
    const template = this.findTemplate(reference);
    if (!template) {
      const known = [...this.templates.values()].flatMap(({ aliases }) => aliases);
      const hint = `this test service has ${known.join(', ')}: add another with service.addTemplate()`;
      throw new Refusal(404, `template '${text.slice(0, 200)}' not found (${hint})`);
    }
    const build = template.builds.find(({ tags }) => tags.includes(reference.tag));
    if (!build)
      throw new Refusal(404, `tag '${reference.tag}' of template '${text.slice(0, 200)}' not found`);
    return { template, build };
  }

  /** Starts a sandbox. @throws Refusal 429 above the team's limit */
  startSandbox(settings: SandboxSettings, timeoutSeconds: number, files: FileTree | undefined): TestSandbox {
    this.assertRoom();
    const sandbox = new TestSandbox({
      id: `itest${this.id(16)}`,
      clock: this.clock,
      settings,
      timeoutMs: timeoutSeconds * 1000,
      ...(files && { files: files.copy() }),
      onEnd: (ended, reason) => this.#ended(ended, reason),
    });
    this.sandboxes.set(sandbox.id, sandbox);
    this.everySandbox.set(sandbox.id, sandbox);
    const template = this.templates.get(settings.templateId);
    if (template)
      this.templates.set(template.id, {
        ...template,
        spawnCount: template.spawnCount + 1,
        lastSpawnedMs: this.clock.nowMs,
      });
    return sandbox;
  }

  /** @throws Refusal 429 */
  assertRoom(): void {
    const limit = this.limits.maxConcurrentSandboxes;
    if (this.sandboxes.size < limit) return;
    let running = 0;
    for (const { state } of this.sandboxes.values()) if (state === 'running') running += 1;
    if (running < limit) return;
    const advice = 'kill or pause one, or ask for a higher limit';
    throw new Refusal(429, `sandbox limit reached (${limit} of ${limit} run): ${advice}`);
  }

  /** The sandbox of a path parameter. @throws Refusal 400, 404 */
  sandboxOf(text: string): TestSandbox {
    const id = readSandboxId(text);
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) throw new Refusal(404, `sandbox ${id} does not exist or you have no access to it`);
    return sandbox;
  }

  /** @throws Refusal 400 */
  checkTimeout(seconds: number): number {
    const { maxTimeToLiveSeconds: most } = this.limits;
    if (seconds > most)
      throw new Refusal(
        400,
        `the timeout is longer than ${most / 3600} hours, which is the most that the team may use`,
      );
    return seconds;
  }

  /** When a run ends that shall last so long from now: no later than its longest. */
  endFromNow(sandbox: TestSandbox, seconds: number): number {
    const longest = sandbox.startedMs + this.limits.maxTimeToLiveSeconds * 1000;
    return Math.min(this.clock.nowMs + seconds * 1000, longest);
  }

  #ended({ id }: TestSandbox, reason: StopReason): void {
    if (reason !== 'paused') this.sandboxes.delete(id);
  }

  /** Answer to create, resume, connect and each fork. */
  sandboxToWire(sandbox: TestSandbox): Schemas['Sandbox'] {
    const { alias, network } = sandbox.settings;
    return {
      templateID: sandbox.templateId,
      sandboxID: sandbox.id,
      clientID: clientId,
      envdVersion: daemonVersion,
      ...(alias === undefined ? {} : { alias }),
      envdAccessToken: sandbox.accessToken,
      ...(network?.allowPublicTraffic === false ? { trafficAccessToken: sandbox.trafficToken } : {}),
      domain: this.domain,
    };
  }

  listedToWire(sandbox: TestSandbox): Schemas['ListedSandbox'] {
    const { alias, forkedFrom, metadata, volumeMounts } = sandbox.settings;
    return {
      templateID: sandbox.templateId,
      sandboxID: sandbox.id,
      clientID: clientId,
      startedAt: new Date(sandbox.startedMs).toISOString(),
      endAt: sandbox.expiresAt.toISOString(),
      cpuCount: 2,
      memoryMB: 512,
      diskSizeMB: 0,
      state: sandbox.state === 'paused' ? 'paused' : 'running',
      envdVersion: daemonVersion,
      ...(alias === undefined ? {} : { alias }),
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
      ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
      volumeMounts: volumeMounts.map(({ name, path }) => ({ name, path })),
    };
  }

  detailToWire(sandbox: TestSandbox): Schemas['SandboxDetail'] {
    const { network, allowInternetAccess, autoPause, autoResume } = sandbox.settings;
    const { trafficAccessToken } = this.sandboxToWire(sandbox);
    return {
      ...this.listedToWire(sandbox),
      envdAccessToken: sandbox.accessToken,
      ...(trafficAccessToken === undefined ? {} : { trafficAccessToken }),
      domain: this.domain,
      isolation: 'none',
      allowInternetAccess,
      ...(network === undefined ? {} : { network }),
      lifecycle: { autoResume, onTimeout: autoPause ? 'pause' : 'kill' },
    };
  }
}

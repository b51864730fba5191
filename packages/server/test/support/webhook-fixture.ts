import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';
import type { Team } from '../../src/api/auth/team-store.js';
import { randomIds } from '../../src/config/ids.js';
import { settings } from '../../src/config/settings.js';
import { withDefaults } from '../../src/config/walk.js';
import { createEventSink, type LifecycleEventType } from '../../src/sandboxes/events/sink.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import type { Storage } from '../../src/storage/open.js';
import { startWebhookWorker, type WebhookWorker } from '../../src/webhooks/delivery/worker.js';
import { createWebhook } from '../../src/webhooks/records.js';
import { createTestStorage, type Dialect, type TestStorage } from './storage.js';

export const SECRET = 'a secret of at least thirty-two characters';

export const team: Team = {
  id: randomIds.uuid(),
  slug: 'test',
  name: 'Test',
  limits: withDefaults(settings.teamLimits, {}),
  flags: { egressProxy: false },
  banned: false,
  blocked: false,
  blockedReason: null,
  createdAtMs: 0,
};

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  event: { id: string; type: string; sandbox_id: string; event_data: { n?: number } };
}

interface ContextOptions {
  /** Default: 10, 10, 10. */
  retryDelaysMs?: number[];
  /** Default: true. */
  allowPrivateAddresses?: boolean;
  /** For an exchange. Default: 5 s. */
  timeoutMs?: number;
  /** Default: the clock of this machine. */
  now?: () => number;
  /** Whose database it is. Default: that of the fixture. */
  store?: Storage;
}

interface EmitOptions {
  /** Default: created. */
  type?: LifecycleEventType;
  /** The number of their sandboxes. Default: 1. */
  sandboxes?: number;
  /** Default: that of the webhooks. */
  teamId?: string;
}

export type Context = ReturnType<WebhookFixture['context']>;

/** A database, a receiver of webhooks, and what starts workers between the two. */
export class WebhookFixture implements AsyncDisposable {
  /** The answers of the receiver, oldest first. */
  readonly received: Received[] = [];
  /** The status that the receiver answers with; undefined cuts the connection off. Default 204. */
  answer: (received: Received) => number | undefined | Promise<number | undefined> = () => 204;
  readonly #keys = createKeyRing(randomBytes(32));
  readonly #abort = new AbortController();
  readonly #workers: WebhookWorker[] = [];
  readonly #stores: Storage[] = [];
  readonly #storage: TestStorage;
  readonly #receiver: Server;

  private constructor(storage: TestStorage) {
    this.#storage = storage;
    this.#receiver = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const one = { headers: request.headers, body, event: JSON.parse(body) as Received['event'] };
      const status = await this.answer(one);
      if (status === undefined) return void request.socket.destroy();
      this.received.push(one);
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    });
  }

  static async open(dialect: Dialect): Promise<WebhookFixture> {
    const fixture = new WebhookFixture(await createTestStorage(dialect));
    await fixture.openStore();
    await new Promise<void>((resolve) => fixture.#receiver.listen(0, '127.0.0.1', resolve));
    return fixture;
  }

  /** The database once more, as another server has it. */
  async openStore(): Promise<Storage> {
    const store = await this.#storage.open();
    this.#stores.push(store);
    return store;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#receiver.address() as AddressInfo).port}/hook`;
  }

  context(options: ContextOptions = {}) {
    const log = { error: vi.fn(), warn: vi.fn(), info: vi.fn(), debug: vi.fn() };
    const now = options.now ?? Date.now;
    return {
      ...(options.store ?? this.#stores[0]!),
      keys: this.#keys,
      ids: randomIds,
      now,
      log: log as never,
      signal: this.#abort.signal,
      events: createEventSink(randomIds, now),
      config: {
        webhooks: {
          allowPrivateAddresses: options.allowPrivateAddresses ?? true,
          retryDelaysMs: options.retryDelaysMs ?? [10, 10, 10],
          timeoutMs: options.timeoutMs ?? 5_000,
        },
        events: { retentionMs: 86_400_000 },
      } as never,
    };
  }

  webhook(on: Context, events: LifecycleEventType[] = ['sandbox.lifecycle.created'], owner: Team = team) {
    return createWebhook(on, owner, { name: 'test', url: this.url, events, signatureSecret: SECRET });
  }

  /** Delivers until it is stopped, at the latest with the fixture. */
  work(on: Context): WebhookWorker {
    const worker = startWebhookWorker(on);
    this.#workers.push(worker);
    return worker;
  }

  /** Writes events with the numbers from 0 on, in turn for each of the sandboxes. */
  async emit(on: Context, count: number, options: EmitOptions = {}) {
    const execution = randomIds.uuid();
    await on.db.transaction().execute(async (tx) => {
      for (let n = 0; n < count; n++)
        await on.events.emit(tx, {
          type: options.type ?? 'sandbox.lifecycle.created',
          teamId: options.teamId ?? team.id,
          sandboxId: `i${n % (options.sandboxes ?? 1)}`,
          executionId: execution,
          templateId: 'base',
          buildId: execution,
          data: { n },
        });
    });
    on.events.committed();
  }

  async [Symbol.asyncDispose]() {
    this.#abort.abort();
    for (const worker of this.#workers) await worker.stop();
    this.#receiver.closeAllConnections();
    await new Promise((resolve) => this.#receiver.close(resolve));
    for (const { db } of this.#stores) await db.destroy();
    await this.#storage.remove();
  }
}

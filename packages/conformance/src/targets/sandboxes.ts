import assert from 'node:assert/strict';
import { type Api, call } from '../wire/call.js';
import { send } from '../wire/send.js';
import type { TestSandbox } from './target.js';

/** Makes sandboxes of a target and remembers them, so that all can be ended. */
export class SandboxPool {
  readonly #api: Api;
  readonly #sandboxUrl: string;
  readonly #template: string;
  readonly #made: { id: string; apiKey: string }[] = [];
  #shared: Promise<TestSandbox> | undefined;

  constructor(api: Api, sandboxUrl: string, template: string) {
    this.#api = api;
    this.#sandboxUrl = sandboxUrl;
    this.#template = template;
  }

  shared(): Promise<TestSandbox> {
    this.#shared ??= this.create({ timeout: 3600 });
    return this.#shared;
  }

  async create(options: Record<string, unknown> = {}, api: Api = this.#api): Promise<TestSandbox> {
    const answer = await call(api, 'createSandboxV2', {
      body: { templateID: this.#template, timeout: 600, ...options },
    });
    assert.equal(answer.status, 201, `a sandbox for the case: ${answer.text}`);
    const made = answer.json() as { sandboxID: string; envdAccessToken: string; templateID: string };
    this.#made.push({ id: made.sandboxID, apiKey: api.apiKey });
    return {
      sandboxUrl: this.#sandboxUrl,
      sandboxId: made.sandboxID,
      accessToken: made.envdAccessToken,
      templateId: made.templateID,
    };
  }

  /** Ends all that still live. */
  async clear(): Promise<void> {
    await Promise.all(
      this.#made.splice(0).map(({ id, apiKey }) =>
        send(`${this.#api.apiUrl}/sandboxes/${id}`, {
          method: 'DELETE',
          headers: { 'X-API-Key': apiKey },
        }).catch(() => {}),
      ),
    );
  }
}

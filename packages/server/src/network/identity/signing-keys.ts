import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { ServerConfig } from '../../config/config.js';
import {
  openSetting,
  SETTINGS,
  type SettingPorts,
  writeSetting,
} from '../../storage/keys/encrypted-setting.js';
import { type KeyPlan, planKeys, type SigningKey } from './rotation.js';

/** Lifetime of the cached keys, ms. A new key is published for much longer before it signs. */
const TTL_MS = 60_000;
const ALGORITHM = 'ES256';

interface Ports extends SettingPorts {
  config: Pick<ServerConfig, 'identity'>;
  now(): number;
}

/**
 * The keys that sign identity tokens, encrypted in the database and shared by every server on it. They are made and
 * replaced when somebody asks for them and it is time.
 */
export class SigningKeys {
  readonly #context: Ports;
  #cached: { plan: KeyPlan; untilMs: number } | undefined;
  #reading: Promise<KeyPlan> | undefined;

  constructor(context: Ports) {
    this.#context = context;
  }

  /** The key that signs now. */
  async signing(): Promise<SigningKey> {
    const { signing } = await this.#plan();
    if (signing === undefined) throw new Error('there is no key that signs identity tokens');
    return signing;
  }

  /** The keys that relying parties may see tokens of, newest first. */
  async published(): Promise<SigningKey[]> {
    return (await this.#plan()).published;
  }

  #plan(): KeyPlan | Promise<KeyPlan> {
    if (this.#cached !== undefined && this.#context.now() < this.#cached.untilMs) return this.#cached.plan;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<KeyPlan> {
    const { config } = this.#context;
    for (;;) {
      const nowMs = this.#context.now();
      const { value: keys = [], version } = await openSetting<SigningKey[]>(
        this.#context,
        SETTINGS.identityKeys,
      );
      const plan = planKeys(keys, nowMs, config.identity);
      if (!plan.due) {
        this.#cached = { plan, untilMs: nowMs + TTL_MS };
        return plan;
      }
      const next = [await newKey(nowMs), ...plan.published];
      // When two servers find a key due, one of them writes and both read it.
      await writeSetting(this.#context, SETTINGS.identityKeys, next, version);
    }
  }
}

async function newKey(nowMs: number): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { kid: await calculateJwkThumbprint(jwk), jwk, createdAtMs: nowMs };
}

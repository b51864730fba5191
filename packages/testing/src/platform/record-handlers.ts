import { Refusal } from '../answers/refusal.js';
import type { Handlers } from './handler.js';
import { readUuid } from './references.js';
import { pageOf } from './wire-lists.js';
import type { World } from './world.js';

/** Team, volumes, secrets and webhooks: records that are kept and given back. */
export const recordHandlers = {
  getHealth: () => ({ status: 204 }),

  getTeam({ world }) {
    const { id, name, slug, createdMs } = world.team;
    const limits = {
      ...world.limits,
      maxConcurrentBuilds: 20,
      maxCpuCount: 8,
      maxMemoryMB: 8_192,
      maxSecrets: 50,
      maxWebhooks: 10,
    };
    const createdAt = isoTime(createdMs);
    return {
      status: 200,
      body: { teamID: id, name, slug, createdAt, limits, features: { egressProxy: false } },
    };
  },

  listVolumes({ world }) {
    const all = [...world.volumes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { status: 200, body: all.map(({ id, name }) => ({ volumeID: id, name })) };
  },
  createVolume({ world, body: { name } }) {
    if ([...world.volumes.values()].some((volume) => volume.name === name))
      throw new Refusal(400, `a volume named '${name}' already exists`);
    const id = world.uuid();
    world.volumes.set(id, { id, name });
    return { status: 201, body: { volumeID: id, name, token: `test-volume-token-${id}` } };
  },
  getVolume({ world, params }) {
    const { id, name } = volumeOf(world, params.volumeID);
    return { status: 200, body: { volumeID: id, name, token: `test-volume-token-${id}` } };
  },
  deleteVolume({ world, params }) {
    world.volumes.delete(volumeOf(world, params.volumeID).id);
    return { status: 204 };
  },

  listSecrets({ world, query }) {
    const { limit = 100, nextToken } = query;
    const place = (secret: SecretRecord) => ({ atMs: Date.parse(secret.createdAt), id: secret.secretID });
    const { items, headers } = pageOf([...world.secrets.values()], place, { limit, nextToken });
    return { status: 200, headers, body: items.map(secretToWire) };
  },
  createSecret({ world, body }) {
    const name = secretName(body.name);
    checkSecretValue(body.value);
    checkSecretMetadata(body.metadata ?? {});
    if ([...world.secrets.values()].some((secret) => secret.name === name))
      throw new Refusal(409, 'A secret with this name already exists');
    if (world.secrets.size >= 50)
      throw new Refusal(409, 'secret limit reached (50 of 50): delete one, or ask for a higher limit', {
        errorCode: 'secret_limit_reached',
      });
    const now = isoTime(world.clock.nowMs);
    const secret = {
      secretID: `sec_${world.id(26).replace(/[0189]/g, (digit) => 'abcd'['0189'.indexOf(digit)] as string)}`,
      name,
      value: body.value,
      currentVersion: 1,
      metadata: body.metadata ?? {},
      createdAt: now,
      updatedAt: now,
    };
    world.secrets.set(secret.secretID, secret);
    return { status: 201, body: secretToWire(secret) };
  },
  getSecret: ({ world, params }) => ({ status: 200, body: secretToWire(secretOf(world, params.secretID)) }),
  updateSecret({ world, params, body }) {
    checkSecretValue(body.value);
    if (body.metadata !== undefined) checkSecretMetadata(body.metadata);
    const secret = secretOf(world, params.secretID);
    const changed = {
      ...secret,
      value: body.value,
      currentVersion: secret.currentVersion + 1,
      metadata: body.metadata ?? secret.metadata,
      updatedAt: isoTime(world.clock.nowMs),
    };
    world.secrets.set(secret.secretID, changed);
    return { status: 200, body: secretToWire(changed) };
  },
  deleteSecret({ world, params }) {
    world.secrets.delete(secretOf(world, params.secretID).secretID);
    return { status: 204 };
  },

  listWebhooks: ({ world }) => ({ status: 200, body: [...world.webhooks.values()] }),
  createWebhook({ world, body }) {
    if (world.webhooks.size >= 10)
      throw new Refusal(429, 'webhook limit reached (10 of 10): delete one, or ask for a higher limit');
    const webhook = {
      id: world.uuid(),
      teamId: world.team.id,
      name: body.name,
      createdAt: isoTime(world.clock.nowMs),
      url: checkUrl(body.url),
      enabled: body.enabled ?? true,
      events: [...new Set(body.events)],
    };
    world.webhooks.set(webhook.id, webhook);
    return { status: 201, body: webhook };
  },
  getWebhook: ({ world, params }) => ({ status: 200, body: webhookOf(world, params.webhookID) }),
  updateWebhook({ world, params, body }) {
    const webhook = webhookOf(world, params.webhookID);
    const { name = webhook.name, enabled = webhook.enabled, url, events = webhook.events } = body ?? {};
    const changed = {
      ...webhook,
      name,
      enabled,
      url: url === undefined ? webhook.url : checkUrl(url),
      events: [...new Set(events)],
    };
    world.webhooks.set(webhook.id, changed);
    return { status: 200, body: changed };
  },
  deleteWebhook({ world, params }) {
    world.webhooks.delete(webhookOf(world, params.webhookID).id);
    return { status: 204 };
  },
} satisfies Handlers;

const isoTime = (ms: number) => new Date(ms).toISOString();

function volumeOf(world: World, text: string) {
  const volume = world.volumes.get(readUuid(text, 'Invalid volume ID'));
  if (!volume) throw new Refusal(404, 'Volume not found');
  return volume;
}

function webhookOf(world: World, text: string) {
  const webhook = world.webhooks.get(readUuid(text, 'Invalid webhook ID'));
  if (!webhook) throw new Refusal(404, 'Webhook not found');
  return webhook;
}

/** @throws Refusal 400 */
function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.length > 2048)
    throw new Refusal(400, 'url: must be a valid http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new Refusal(400, 'url: must not contain a user name or password');
  return text;
}

type SecretRecord = World['secrets'] extends Map<string, infer Secret> ? Secret : never;

/** The value is no part of it. */
function secretToWire({ value: _, ...secret }: SecretRecord) {
  return secret;
}

/** Texts about secrets are fixed: nothing of the request may come back. */
const invalidSecret = () => new Refusal(400, 'Invalid secrets request');
const bytesOf = (text: string) => new TextEncoder().encode(text).byteLength;

function secretName(text: string): string {
  const name = text.trim().toLowerCase();
  if (!/^[a-z0-9_-]{1,128}$/.test(name) || name.startsWith('sec_')) throw invalidSecret();
  return name;
}

function secretOf(world: World, text: string): SecretRecord {
  const selector = text.trim().toLowerCase();
  const byId = selector.startsWith('sec_');
  if (byId && !/^sec_[a-z2-7]{26}$/.test(selector)) throw invalidSecret();
  const found = byId
    ? world.secrets.get(selector)
    : [...world.secrets.values()].find(({ name }) => name === secretName(selector));
  if (!byId) secretName(selector);
  if (!found) throw new Refusal(404, 'Secret not found');
  return found;
}

function checkSecretValue(value: string): void {
  if (value === '' || bytesOf(value) > 16_384) throw invalidSecret();
}

function checkSecretMetadata(metadata: Readonly<Record<string, string>>): void {
  const sizes = Object.entries(metadata).map(([key, value]) => [bytesOf(key), bytesOf(value)] as const);
  const total = sizes.reduce((sum, [key, value]) => sum + key + value, 0);
  if (
    sizes.length > 32 ||
    total > 8192 ||
    sizes.some(([key, value]) => key === 0 || key > 128 || value > 1024)
  )
    throw invalidSecret();
}

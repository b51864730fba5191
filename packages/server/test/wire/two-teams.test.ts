import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPlatformDocument } from '../../src/api/document.js';
import type { OperationId } from '../../src/api/operations.js';
import { platformRoutes } from '../../src/api/route-table.js';
import { run } from '../support/sandboxes.js';
import { secondTeam } from '../support/second-team.js';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

/** Resources of a team that a request may name. */
interface Names {
  sandboxID: string;
  templateID: string;
  /** With the namespace of its team. */
  alias: string;
  buildID: string;
  secretID: string;
  secretName: string;
  volumeID: string;
  volumeName: string;
  webhookID: string;
  eventID: string;
  apiKeyID: string;
}

interface Row {
  /**
   * `hidden`: the other team gets 404. `empty`: 200 with nothing in it. Both exactly as for
   * what does not exist. `own`: names nothing, and tells nothing of the other team. `credential`: another one than keys.
   */
  kind: 'hidden' | 'empty' | 'own' | 'credential';
  query?: (names: Names) => Record<string, string>;
  body?: (names: Names) => unknown;
}

const hidden = (more: Omit<Row, 'kind'> = {}): Row => ({ kind: 'hidden', ...more });
const empty = (more: Omit<Row, 'kind'> = {}): Row => ({ kind: 'empty', ...more });
const own = (body?: () => unknown): Row => ({ kind: 'own', ...(body === undefined ? {} : { body }) });

const HASH = 'a'.repeat(64);

/** Every operation has a row: a new one without does not compile, and fails below. */
const ROWS = {
  getHealth: own(),
  getOpenidConfiguration: own(),
  getJwks: own(),
  listSandboxes: own(),
  createSandbox: hidden({ body: ({ alias }) => ({ templateID: alias }) }),
  listSandboxesV2: empty({ query: ({ templateID }) => ({ template: templateID }) }),
  createSandboxV2: hidden({ body: ({ templateID }) => ({ templateID }) }),
  listSandboxesMetrics: empty({ query: ({ sandboxID }) => ({ sandbox_ids: sandboxID }) }),
  getSandbox: hidden(),
  killSandbox: hidden(),
  pauseSandbox: hidden(),
  resumeSandbox: hidden(),
  connectSandbox: hidden({ body: () => ({ timeout: 60 }) }),
  connectSandboxV2: hidden({ body: () => ({}) }),
  setSandboxTimeout: hidden({ body: () => ({ timeout: 60 }) }),
  refreshSandbox: hidden({ body: () => ({ duration: 60 }) }),
  forkSandbox: hidden({ body: () => ({ count: 2 }) }),
  updateSandboxNetwork: hidden({ body: () => ({}) }),
  createSnapshot: hidden({ body: () => ({}) }),
  getSandboxEgress: hidden(),
  getSandboxLogs: empty(),
  getSandboxLogsV2: empty(),
  getSandboxMetrics: empty(),
  listSnapshots: empty({ query: ({ sandboxID }) => ({ sandboxID }) }),
  createTemplate: own(() => ({ name: `of-b-${randomUUID().slice(0, 8)}` })),
  listTemplates: own(),
  listTemplatesV2: own(),
  getTemplate: hidden(),
  updateTemplate: hidden({ body: () => ({ public: true }) }),
  deleteTemplate: hidden(),
  updateTemplateV2: hidden({ body: () => ({ public: true }) }),
  getTemplateAlias: hidden(),
  assignTemplateTags: hidden({ body: ({ alias }) => ({ target: alias, tags: ['x'] }) }),
  deleteTemplateTags: hidden({ body: ({ alias }) => ({ name: alias, tags: ['x'] }) }),
  listTemplateTags: hidden(),
  getTemplateFilesLink: hidden(),
  uploadTemplateFiles: { kind: 'credential' },
  startTemplateBuild: hidden({ body: () => ({ fromTemplate: 'base' }) }),
  getTemplateBuildStatus: hidden(),
  getTemplateBuildLogs: hidden(),
  listSecrets: own(),
  createSecret: own(() => ({ name: `of-b-${randomUUID().slice(0, 8)}`, value: 'x' })),
  getSecret: hidden(),
  updateSecret: hidden({ body: () => ({ value: 'x' }) }),
  deleteSecret: hidden(),
  listVolumes: own(),
  createVolume: own(() => ({ name: `of-b-${randomUUID().slice(0, 8)}` })),
  getVolume: hidden(),
  deleteVolume: hidden(),
  listWebhooks: own(),
  createWebhook: own(() => ({
    name: 'of-b',
    url: 'https://example.com/',
    events: ['sandbox.lifecycle.created'],
    signatureSecret: 's'.repeat(32),
  })),
  getWebhook: hidden(),
  updateWebhook: hidden({ body: () => ({ enabled: false }) }),
  deleteWebhook: hidden(),
  listWebhookDeliveries: hidden(),
  redeliverWebhookEvent: hidden(),
  getWebhookStats: hidden(),
  listEvents: own(),
  listSandboxEvents: empty(),
  getTeam: own(),
  listApiKeys: own(),
  createApiKey: own(() => ({ name: 'of-b' })),
  deleteApiKey: hidden(),
} satisfies Record<OperationId, Row>;

const routes = platformRoutes(readPlatformDocument());
const unknown: Names = {
  sandboxID: 'iunknownunknownunknow',
  templateID: 'unknownunknownunknow',
  alias: 'team-a/unknown',
  buildID: randomUUID(),
  secretID: `sec_${'7'.repeat(26)}`,
  secretName: 'unknown',
  volumeID: randomUUID(),
  volumeName: 'unknown',
  webhookID: randomUUID(),
  eventID: randomUUID(),
  apiKeyID: randomUUID(),
};

let test: TestServer;
let teamA: Awaited<ReturnType<typeof secondTeam>>;
let teamB: Awaited<ReturnType<typeof secondTeam>>;
let a: Names;
/** Texts of team A that no answer to team B may hold. */
let facts: string[];

beforeAll(async () => {
  test = await startTestServer();
  teamA = await secondTeam(test, 'team-a');
  teamB = await secondTeam(test, 'team-b');
  const as = async (method: string, path: string, body?: unknown) => {
    const answer = await test.api(method, path, body, teamA.headers);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  const sandbox = await as('POST', '/v2/sandboxes', {
    templateID: 'base',
    metadata: { mark: 'metadata-of-a' },
    envVars: { MARK: 'variable-of-a' },
  });
  await run(test, { id: sandbox.sandboxID, token: sandbox.envdAccessToken }, 'echo line-of-a');
  await test.server.sampleNow();
  // A ready build: what cannot be started from would be hidden for that alone.
  await as('POST', `/sandboxes/${sandbox.sandboxID}/snapshots`, { name: 'private-of-a', memory: false });
  const { templateID } = await as('GET', '/templates/aliases/private-of-a');
  const { builds } = await as('GET', `/templates/${templateID}`);
  const secret = await as('POST', '/secrets', { name: 'secret-of-a', value: 'value-of-a' });
  const volume = await as('POST', '/volumes', { name: 'volume-of-a' });
  const webhook = await as('POST', '/events/webhooks', {
    name: 'webhook-of-a',
    url: 'https://example.com/of-a',
    events: ['sandbox.lifecycle.created'],
    signatureSecret: 'signature-of-a-'.repeat(3),
  });
  const [event] = await as('GET', `/events/sandboxes/${sandbox.sandboxID}`);
  const key = await as('POST', '/api-keys', { name: 'key-of-a' });
  a = {
    sandboxID: sandbox.sandboxID,
    templateID,
    alias: 'team-a/private-of-a',
    buildID: builds[0].buildID,
    secretID: secret.secretID,
    secretName: 'secret-of-a',
    volumeID: volume.volumeID,
    volumeName: 'volume-of-a',
    webhookID: webhook.id,
    eventID: event.id,
    apiKeyID: key.id,
  };
  facts = [...Object.values(a), teamA.id, sandbox.envdAccessToken, key.key, 'of-a'];
});
afterAll(() => test[Symbol.asyncDispose]());

/** The request of an operation that names what it is given. */
function ask(operationId: OperationId, names: Names, headers: Record<string, string>): Promise<ApiAnswer> {
  const route = routes.find((each) => each.operationId === operationId)!;
  const row: Row = ROWS[operationId];
  const path = route.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(name === 'hash' ? HASH : names[name as keyof Names]),
  );
  const query = row.query === undefined ? '' : `?${new URLSearchParams(row.query(names))}`;
  return test.api(route.method, `${path}${query}`, row.body?.(names), headers);
}

/** An answer's body with the names of the request taken out, and what changes with every request. */
function shape(answer: ApiAnswer, names: Names): string {
  let text = JSON.stringify(answer.body ?? null);
  for (const [kind, name] of Object.entries(names)) text = text.replaceAll(name, `<${kind}>`);
  return `${answer.status} ${text}`;
}

const STATUS = { hidden: 404, empty: 200 } as const;

describe('the contract', () => {
  it('has a row here for every operation', () => {
    expect(Object.keys(ROWS).sort()).toEqual(routes.map(({ operationId }) => operationId).sort());
  });
});

describe('what team A has', () => {
  for (const operationId of Object.keys(ROWS) as OperationId[]) {
    const { kind } = ROWS[operationId] as Row;
    if (kind === 'credential') continue;
    it(`is not there for team B: ${operationId}, ${kind}`, async () => {
      const answer = await ask(operationId, a, teamB.headers);
      if (kind === 'own') expect(answer.status).toBeLessThan(300);
      else {
        expect(answer.status).toBe(STATUS[kind]);
        const none = await ask(operationId, unknown, teamB.headers);
        expect(shape(answer, a)).toBe(shape(none, unknown));
      }
      let text = JSON.stringify(answer.body ?? null);
      // The request's own words may come back in a text.
      if (kind === 'hidden')
        for (const name of [a.sandboxID, a.templateID, a.alias, a.buildID]) text = text.replaceAll(name, '');
      for (const fact of facts) expect(text).not.toContain(fact);
    });
  }
  it('is there for team A itself, unharmed by all that', async () => {
    for (const operationId of Object.keys(ROWS) as OperationId[]) {
      const route = routes.find((each) => each.operationId === operationId)!;
      if (route.method !== 'GET' || (ROWS[operationId] as Row).kind !== 'hidden') continue;
      const answer = await ask(operationId, a, teamA.headers);
      expect(answer.status, operationId).toBeLessThan(300);
    }
    expect((await test.api('GET', `/sandboxes/${a.sandboxID}`, undefined, teamA.headers)).body.state).toBe(
      'running',
    );
    const logs = await test.api('GET', `/v2/sandboxes/${a.sandboxID}/logs`, undefined, teamA.headers);
    expect(JSON.stringify(logs.body)).toContain('line-of-a');
    await test.api('DELETE', `/sandboxes/${a.sandboxID}`, undefined, teamA.headers);
  });
  it('cannot be named in a body either: volumes and secrets by their names', async () => {
    const secret = await test.api('GET', '/secrets/secret-of-a', undefined, teamB.headers);
    expect(secret.status).toBe(404);
    for (const name of [a.volumeName, unknown.volumeName]) {
      const answer = await test.api(
        'POST',
        '/v2/sandboxes',
        { templateID: 'base', volumeMounts: [{ name, path: '/data' }] },
        teamB.headers,
      );
      expect(answer.status).toBe(400);
    }
  });
});

import type { operations } from '@svc/platform';
import type { operatorOperationTypes } from '@svc/platform/operator';
import type { Resource } from './entry.js';

type AnyOperationId = keyof operations | keyof operatorOperationTypes;

/** Operations that change something and leave no entry all the same. */
const QUIET: ReadonlySet<string> = new Set<AnyOperationId>([
  // Sent every few seconds by whoever keeps a sandbox alive.
  'refreshSandbox',
]);

/** Operations that change nothing and leave an entry: they show which secrets and keys there are. */
const WATCHED: ReadonlySet<string> = new Set<AnyOperationId>([
  'listSecrets',
  'getSecret',
  'listApiKeys',
  'listTeamApiKeys',
]);

/** Whether an operation leaves an entry. Those without a credential do not: nobody knows who calls. Pure. */
export function isAudited(operation: { operationId: string; method: string; secured: boolean }): boolean {
  if (!operation.secured) return false;
  if (operation.method === 'GET') return WATCHED.has(operation.operationId);
  return !QUIET.has(operation.operationId);
}

/** What names in paths stand for. */
const KINDS: Readonly<Record<string, string>> = {
  sandboxID: 'sandbox',
  templateID: 'template',
  buildID: 'build',
  secretID: 'secret',
  volumeID: 'volume',
  webhookID: 'webhook',
  apiKeyID: 'key',
  team: 'team',
  nodeID: 'node',
};

/** What operations act on whose path does not say it, and which member of the answer or of the body names it. */
const UNNAMED: Readonly<Partial<Record<AnyOperationId, { kind: string; answer?: string; body?: string }>>> = {
  createSandbox: { kind: 'sandbox', answer: 'sandboxID' },
  createSandboxV2: { kind: 'sandbox', answer: 'sandboxID' },
  createTemplate: { kind: 'template', answer: 'templateID' },
  assignTemplateTags: { kind: 'template', body: 'target' },
  deleteTemplateTags: { kind: 'template', body: 'name' },
  listSecrets: { kind: 'secret' },
  createSecret: { kind: 'secret', answer: 'secretID' },
  createVolume: { kind: 'volume', answer: 'volumeID' },
  createWebhook: { kind: 'webhook', answer: 'id' },
  listApiKeys: { kind: 'key' },
  createApiKey: { kind: 'key', answer: 'id' },
  createTeam: { kind: 'team', answer: 'teamID' },
  listTeamApiKeys: { kind: 'key' },
  // Who opens it acts as the operator from then on.
  createDashboardCode: { kind: 'dashboard' },
  createTeamApiKey: { kind: 'key', answer: 'id' },
};

/** What a request is about to act on. Pure. */
export function resourceBefore(
  operationId: string,
  path: string,
  params: unknown,
  body: unknown,
): Resource | undefined {
  const unnamed = UNNAMED[operationId as AnyOperationId];
  if (unnamed !== undefined)
    return {
      kind: unnamed.kind,
      id: unnamed.body === undefined ? undefined : identifier(unnamed.kind, member(body, unnamed.body)),
    };
  // The last one: the build of a template, the key of a team.
  const name = [...path.matchAll(/\{([^}]+)\}/g)]
    .map(([, found]) => found!)
    .findLast((found) => found in KINDS);
  if (name === undefined) return undefined;
  const kind = KINDS[name]!;
  return { kind, id: identifier(kind, member(params, name)) };
}

/** The identifier of what a request made, when the answer is what names it. Pure. */
export function madeId(operationId: string, answer: unknown): string | undefined {
  const name = UNNAMED[operationId as AnyOperationId]?.answer;
  if (name === undefined) return undefined;
  // What another node answered is not read yet.
  return member(Buffer.isBuffer(answer) ? readJson(answer) : answer, name);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The form of identifiers, by what they name. */
const FORMS: Readonly<Record<string, RegExp>> = {
  sandbox: /^[a-z0-9]{1,64}(-[a-z0-9]{1,64})?$/,
  template: /^(?!svc(op)?_)[a-z0-9][a-z0-9_.:/-]{0,255}$/i,
  build: UUID,
  secret: /^sec_[a-z0-9]{26}$/i,
  volume: UUID,
  webhook: UUID,
  key: UUID,
  team: /^[a-z0-9][a-z0-9-]{0,62}$/i,
  node: /^(?!svc(op)?_)[a-z0-9][a-z0-9_.-]{0,127}$/i,
};

/** A text that came as an identifier, where it has the form of one: a key or a value in its place must not be kept. */
function identifier(kind: string, text: string | undefined): string | undefined {
  return text !== undefined && FORMS[kind]?.test(text) ? text : undefined;
}

function readJson(answer: Buffer): unknown {
  try {
    return JSON.parse(answer.toString('utf8'));
  } catch {
    return undefined;
  }
}

function member(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found: unknown = (value as Record<string, unknown>)[name];
  return typeof found === 'string' ? found : undefined;
}

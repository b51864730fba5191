import type { OperationRules } from '@svc/platform/rules';
import type { RouteEntry } from '../route-table.js';
import type { Resource } from './entry.js';

/** True for operations that leave an entry: those that change something, unless their rules differ. Pure. */
export function isAudited({
  method,
  rules,
  secured,
}: Pick<RouteEntry, 'method' | 'rules' | 'secured'>): boolean {
  // Without a credential nobody knows who calls.
  return secured && (rules.audit ?? method !== 'GET');
}

/** The kinds of resources, by the names in paths. */
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

/** The resource that a request is about to act on. Pure. */
export function resourceBefore(
  { path, rules }: Pick<RouteEntry, 'path' | 'rules'>,
  params: unknown,
  body: unknown,
): Resource | undefined {
  const { actsOn } = rules;
  if (actsOn !== undefined)
    return {
      kind: actsOn.kind,
      id: actsOn.body === undefined ? undefined : identifier(actsOn.kind, member(body, actsOn.body)),
    };
  // The last one: the build of a template, the key of a team.
  const name = [...path.matchAll(/\{([^}]+)\}/g)]
    .map(([, found]) => found!)
    .findLast((found) => found in KINDS);
  if (name === undefined) return undefined;
  const kind = KINDS[name]!;
  return { kind, id: identifier(kind, member(params, name)) };
}

/** The identifier of the resource that a request made, when the answer is what identifies it. Pure. */
export function madeId({ actsOn }: OperationRules, answer: unknown): string | undefined {
  return actsOn?.answer === undefined ? undefined : member(answer, actsOn.answer);
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

function member(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found: unknown = (value as Record<string, unknown>)[name];
  return typeof found === 'string' ? found : undefined;
}

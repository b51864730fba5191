import { errors } from '../errors/catalog.js';
import type { NetworkConfig } from '../storage/json-shapes.js';

type Rules = NonNullable<NetworkConfig['rules']>;

const HOST = /^(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const FIELD = /^[\t\x20-\x7e\x80-\xff]{0,2048}$/;
const FORBIDDEN = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'te',
  'trailer',
]);
const SECRET_NAME = /^[a-z0-9_-]{1,128}$/;
const MAX_HOSTS = 10;
const MAX_SECRETS = 32;

/** Checks transform rules and gives them with lower-case hosts. @throws {ApiError} 400 */
export function checkRules(rules: Rules): Rules {
  const checked: Rules = {};
  const hosts = Object.keys(rules);
  if (hosts.length > MAX_HOSTS) throw errors.badRequest(`network.rules: at most ${MAX_HOSTS} hosts`);
  for (const given of hosts) {
    const host = given.toLowerCase();
    if (!HOST.test(host) || host.length > 128)
      throw errors.badRequest(`network.rules: '${given.slice(0, 128)}' is not a host`);
    if (Object.hasOwn(checked, host)) throw errors.badRequest(`network.rules: '${host}' is there twice`);
    const secrets = new Set<string>();
    for (const rule of rules[given] ?? [])
      for (const [name, value] of Object.entries(rule.transform?.headers ?? {}))
        checkHeader(host, name, value, secrets);
    if (secrets.size > MAX_SECRETS)
      throw errors.badRequest(`network.rules: '${host}' uses more than ${MAX_SECRETS} secrets`);
    checked[host] = rules[given]!;
  }
  return checked;
}

function checkHeader(host: string, name: string, value: string, secrets: Set<string>): void {
  const lower = name.toLowerCase();
  if (!TOKEN.test(name)) throw errors.badRequest(`network.rules: '${host}' has an invalid header name`);
  if (FORBIDDEN.has(lower) || lower.startsWith('proxy-'))
    throw errors.badRequest(`network.rules: the header '${lower}' may not be set`);
  if (!FIELD.test(value))
    throw errors.badRequest(`network.rules: the value of '${lower}' is not a header value`);
  for (const placeholder of readPlaceholders(value))
    if (placeholder.kind === 'secret') secrets.add(placeholder.name);
}

export type Placeholder = { kind: 'secret'; name: string } | { kind: 'identity'; name: string };

const FORMS = [
  { kind: 'secret', prefix: '${svc.secrets.' },
  { kind: 'identity', prefix: '${svc.identity.tokens.' },
] as const;

/** Placeholders of a header value, from left to right. @throws {ApiError} 400 with a fixed text */
export function readPlaceholders(value: string): Placeholder[] {
  const found: Placeholder[] = [];
  let at = 0;
  for (;;) {
    const next = FORMS.map((form) => ({ form, index: value.indexOf(form.prefix, at) }))
      .filter(({ index }) => index >= 0)
      .sort((a, b) => a.index - b.index)[0];
    if (next === undefined) return found;
    const start = next.index + next.form.prefix.length;
    const end = value.indexOf('}', start);
    const name = end < 0 ? '' : value.slice(start, end);
    if (name.trim() === '' || name.includes('${'))
      throw errors.badRequest('network.rules: a placeholder is malformed');
    if (next.form.kind === 'identity') found.push({ kind: 'identity', name });
    else {
      const secret = name.trim().toLowerCase();
      if (!SECRET_NAME.test(secret) || secret.startsWith('sec_'))
        throw errors.badRequest('network.rules: a placeholder is malformed');
      found.push({ kind: 'secret', name: secret });
    }
    at = end + 1;
  }
}

import { placeholdersOf } from './placeholders.js';

/** Transform rules as the platform API has them: by host, a list of at most one transform. */
export type TransformRules = Record<
  string,
  readonly { transform?: { headers?: Record<string, string> | undefined } | undefined }[]
>;

const HOST = /^(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const FIELD = /^[\t\x20-\x7e\x80-\xff]{0,2048}$/;
/** What frames a request and says where it goes is not a rule's to change. */
const FORBIDDEN = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'te',
  'trailer',
]);
const MAX_HOSTS = 10;
const MAX_SECRETS = 32;

/**
 * Checks transform rules.
 * @returns the rules with hosts in lower case, or what is wrong with them as the end of a sentence
 */
export function checkRules<R extends TransformRules>(rules: R): { rules: R } | { problem: string } {
  const hosts = Object.keys(rules);
  if (hosts.length > MAX_HOSTS) return { problem: `at most ${MAX_HOSTS} hosts` };
  const checked: Record<string, unknown> = {};
  for (const given of hosts) {
    const host = given.toLowerCase();
    if (!HOST.test(host) || host.length > 128) return { problem: `'${given.slice(0, 128)}' is not a host` };
    if (Object.hasOwn(checked, host)) return { problem: `'${host}' is there twice` };
    const problem = problemOf(host, rules[given] ?? []);
    if (problem !== undefined) return { problem };
    checked[host] = rules[given];
  }
  return { rules: checked as R };
}

function problemOf(host: string, rules: TransformRules[string]): string | undefined {
  const secrets = new Set<string>();
  for (const { transform } of rules)
    for (const [name, value] of Object.entries(transform?.headers ?? {})) {
      const lower = name.toLowerCase();
      if (!TOKEN.test(name)) return `'${host}' has an invalid header name`;
      if (FORBIDDEN.has(lower) || lower.startsWith('proxy-')) return `the header '${lower}' may not be set`;
      if (!FIELD.test(value)) return `the value of '${lower}' is not a header value`;
      const placeholders = placeholdersOf(value);
      if (placeholders === undefined) return 'a placeholder is malformed';
      for (const placeholder of placeholders)
        if (placeholder.kind === 'secret') secrets.add(placeholder.name);
    }
  return secrets.size > MAX_SECRETS ? `'${host}' uses more than ${MAX_SECRETS} secrets` : undefined;
}

import { type EgressPolicy, type Placeholder, placeholdersOf } from '@svc/network-policy';
import type { Uses } from '../context.js';
import { mintIdentityToken } from '../identity/mint-token.js';
import type { PlaceholderScope } from '../sandbox-egress.js';
import { secretValue } from '../secrets/values.js';

/** Time for which one identity token is reused, ms. It is valid for much longer. */
const REUSE_MS = 60_000;

/** A placeholder that stands for nothing. The message says which, and no value. */
export class UnresolvedPlaceholderError extends Error {
  override readonly name = 'UnresolvedPlaceholderError';
}

/**
 * Returns the values of placeholders, in their order. Only names in the rules of the sandbox are looked up.
 * @throws {UnresolvedPlaceholderError} for an unknown or revoked secret, and an unknown token
 */
export async function resolvePlaceholders(
  context: Uses<'config' | 'db' | 'ids' | 'identity' | 'keys' | 'now'>,
  scope: PlaceholderScope,
  placeholders: readonly Placeholder[],
): Promise<string[]> {
  const named = new Set(namedBy(scope.policy).map(keyOf));
  const values = new Map<string, string>();
  for (const placeholder of placeholders) {
    const key = keyOf(placeholder);
    if (values.has(key)) continue;
    const value = named.has(key) ? await lookUp(context, scope, placeholder) : undefined;
    if (value === undefined || !isFieldText(value))
      throw new UnresolvedPlaceholderError(`${placeholder.kind} ${placeholder.name} has no value`);
    values.set(key, value);
  }
  return placeholders.map((placeholder) => values.get(keyOf(placeholder))!);
}

async function lookUp(
  context: Uses<'config' | 'db' | 'ids' | 'identity' | 'keys' | 'now'>,
  scope: PlaceholderScope,
  { kind, name }: Placeholder,
): Promise<string | undefined> {
  if (kind === 'secret') return secretValue(context, scope.subject.team_id, name);
  const asked = Object.hasOwn(scope.tokens ?? {}, name) ? scope.tokens?.[name] : undefined;
  if (asked === undefined) return undefined;
  const nowMs = context.now();
  const known = scope.minted.get(name);
  if (known !== undefined && nowMs < known.untilMs) return known.token;
  const token = await mintIdentityToken(context, scope.subject, asked.audience);
  scope.minted.set(name, { token, untilMs: nowMs + REUSE_MS });
  return token;
}

function namedBy(policy: EgressPolicy): Placeholder[] {
  return Object.values(policy.rules).flatMap(({ headers }) =>
    Object.values(headers).flatMap((value) => placeholdersOf(value) ?? []),
  );
}

const keyOf = ({ kind, name }: Placeholder) => `${kind} ${name}`;

/** Returns whether a value can stand in a header: a line break in it would begin another header. */
function isFieldText(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]+$/.test(value);
}

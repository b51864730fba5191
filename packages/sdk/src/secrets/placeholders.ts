import { InvalidRequestError } from '../errors/answer-errors.js';

/**
 * The text that stands for a secret in the header values of network rules: the real value is put in its place on the
 * way out, and never enters the sandbox.
 * @throws InvalidRequestError for a name that is empty or holds braces or control characters
 * @example
 * const header = { Authorization: `Bearer ${secretPlaceholder('openai')}` };
 */
export function secretPlaceholder(name: string): string {
  return placeholder('svc.secrets', name);
}

/**
 * The text that stands for a workload identity token declared under `iam.tokens`.
 * @throws InvalidRequestError for a name that is empty or holds braces or control characters
 * @example
 * const header = { Authorization: `Bearer ${identityTokenPlaceholder('vault')}` };
 */
export function identityTokenPlaceholder(name: string): string {
  return placeholder('svc.identity.tokens', name);
}

function placeholder(path: string, name: string): string {
  if (name === '' || /[{}\x00-\x1f\x7f]/.test(name)) {
    throw new InvalidRequestError('A placeholder needs a name without braces and control characters.');
  }
  return `\${${path}.${name}}`;
}

import { InvalidRequestError } from '../errors/answer-errors.js';

/**
 * The text that stands for a secret in the header values of network rules: the real value is put in its place on the
 * way out, and never enters the sandbox.
 * @throws InvalidRequestError for a name that is empty or holds braces or control characters
 * @example
 * const header = { Authorization: `Bearer ${secret('openai')}` };
 */
export function secret(name: string): string {
  return placeholder('svc.secrets', name);
}

/**
 * The text that stands for a workload identity token declared under `iam.tokens`.
 * @throws InvalidRequestError for a name that is empty or holds braces or control characters
 * @example
 * const header = { Authorization: `Bearer ${identityToken('vault')}` };
 */
export function identityToken(name: string): string {
  return placeholder('svc.identity.tokens', name);
}

/**
 * A token to declare under `iam.tokens`: a JWT that names the sandbox to one audience, signed anew for requests.
 * @param options.audience who the token is for, byte by byte as its verifier expects it.
 * @example
 * await Sandbox.create({ iam: { tokens: { vault: iamToken({ audience: 'https://vault.example.com' }) } } });
 */
export function iamToken({ audience }: { audience: string }): { audience: string; tokenType: 'JWT-SVID' } {
  return { audience, tokenType: 'JWT-SVID' };
}

function placeholder(path: string, name: string): string {
  if (name === '' || /[{}\x00-\x1f\x7f]/.test(name)) {
    throw new InvalidRequestError('A placeholder needs a name without braces and control characters.');
  }
  return `\${${path}.${name}}`;
}

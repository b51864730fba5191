/** Host names under which SSH clients reach sandboxes, by default: the id or name in the place of the star. */
export const defaultPattern = '*.svc';

/** A pattern that can be undone: one star, and something of its own beside it. Pure. */
export function isHostPattern(pattern: string): boolean {
  return /^[A-Za-z0-9._-]*\*[A-Za-z0-9._-]*$/.test(pattern) && pattern !== '*';
}

/** The id or name that a host name stands for; one that does not fit the pattern is one itself. Pure. */
export function sandboxOfHost(host: string, pattern: string): string {
  const [before = '', after = ''] = pattern.split('*');
  const fits = host.length > before.length + after.length && host.startsWith(before) && host.endsWith(after);
  return fits ? host.slice(before.length, host.length - after.length) : host;
}

/** The host name of an id or name. Pure. */
export function hostOfSandbox(idOrName: string, pattern: string): string {
  return pattern.replace('*', () => sandboxOfHost(idOrName, pattern));
}

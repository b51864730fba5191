/**
 * The full names that a name may stand for, in the order in which they are asked, by `search` (or `domain`) and `ndots` of a
 * file such as `/etc/resolv.conf`. A name that ends with a dot is full.
 */
export function namesToAsk(text: string, host: string): string[] {
  if (host.endsWith('.')) return [host.slice(0, -1)];
  const lists = [...text.matchAll(/^(?:search|domain)[ \t]+(.+)$/gm)];
  // The last line counts.
  const domains = (lists.at(-1)?.[1] ?? '')
    .split(/[#;]/, 1)[0]!
    .split(/\s+/)
    .map((domain) => domain.replace(/\.$/, ''))
    .filter((domain) => domain !== '')
    .slice(0, MAX_DOMAINS);
  const ndots = Number(/^options\b.*\bndots:(\d+)/m.exec(text)?.[1] ?? 1);
  const within = domains.map((domain) => `${host}.${domain}`);
  return host.split('.').length > ndots ? [host, ...within] : [...within, host];
}

const MAX_DOMAINS = 6;

import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Names that every machine has for itself, regardless of its files (RFC 6761). */
const LOCALHOST = ['127.0.0.1', '::1'];

/** Addresses that the operator gave a name in a file such as `/etc/hosts`. Without the file: only `localhost` has some. */
export async function addressesInHostsFile(host: string, file: string): Promise<string[]> {
  const found = findInHosts(await readFile(file, 'utf8').catch(() => ''), host);
  return found.length === 0 && host === 'localhost' ? LOCALHOST : found;
}

/** Addresses of a name, in the order of the lines; each once. Case does not matter; what is no address is left out. */
export function findInHosts(text: string, host: string): string[] {
  const wanted = host.toLowerCase();
  const addresses = text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((name) => name.toLowerCase() === wanted) ? [address] : [];
  });
  return [...new Set(addresses)];
}

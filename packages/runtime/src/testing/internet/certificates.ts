import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes an authority and a certificate of all names and addresses, with the program `openssl`, as files of a directory:
 * `server.key`, `server.pem`. Gives the authority's certificate, PEM.
 */
export function makeCertificates(
  directory: string,
  names: readonly string[],
  addresses: readonly string[],
): string {
  mkdirSync(join(directory, 'files'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=World CA',
  );
  openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=world');
  const alternatives = [
    ...names.map((name) => `DNS:${name}`),
    ...names.map((name) => `DNS:*.${name}`),
    ...addresses.map((address) => `IP:${address}`),
  ];
  writeFileSync(
    join(directory, 'extensions'),
    `subjectAltName=${alternatives.join(',')}\nextendedKeyUsage=serverAuth\n`,
  );
  openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-out', 'server.pem', '-days', '2', '-extfile', 'extensions'],
  );
  return readFileSync(join(directory, 'ca.pem'), 'utf8');
}

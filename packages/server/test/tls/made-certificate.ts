import 'reflect-metadata';
import { randomUUID, webcrypto } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import type { CertificatePair } from '../../src/tls/judge-certificate.js';

const DAY_MS = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A certificate of this machine that signs itself. Times are days from now. */
export async function makeCertificate({ from = -1, to = 90 } = {}): Promise<CertificatePair> {
  x509.cryptoProvider.set(webcrypto as unknown as Crypto);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    // Clients that trust several look for the signer by its name.
    name: `CN=${randomUUID()}`,
    notBefore: new Date(Date.now() + from * DAY_MS),
    notAfter: new Date(Date.now() + to * DAY_MS),
    keys: keys as unknown as CryptoKeyPair,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
        { type: 'dns', value: '*.svc.localhost' },
      ]),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: made.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}

/** Writes a pair as an ACME client does, and gives the settings that name it. */
export async function writeCertificate(
  directory: string,
  { certificate, key }: CertificatePair,
): Promise<{ certificate: string; key: string }> {
  const files = { certificate: join(directory, 'fullchain.pem'), key: join(directory, 'privkey.pem') };
  await writeFile(files.certificate, certificate);
  await writeFile(files.key, key, { mode: 0o600 });
  return files;
}

import 'reflect-metadata';
import { randomUUID, webcrypto } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import type { CertificatePair } from '../../src/process/tls/judge-certificate.js';

const DAY_MS = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Names of this machine. */
const NAMES: x509.JsonGeneralName[] = [
  { type: 'ip', value: '127.0.0.1' },
  { type: 'dns', value: 'localhost' },
  { type: 'dns', value: '*.svc.localhost' },
];

/** Signs certificates. */
export interface Authority {
  certificate: string;
  /** @param names default: those of this machine */
  issue(names?: x509.JsonGeneralName[]): Promise<CertificatePair>;
}

const makeKeys = () => {
  x509.cryptoProvider.set(webcrypto as unknown as Crypto);
  return webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ]) as Promise<unknown> as Promise<CryptoKeyPair>;
};

/** Fields of all certificates. Times are days from now. */
const fields = (name: string, { from = -1, to = 90 } = {}) => ({
  notBefore: new Date(Date.now() + from * DAY_MS),
  notAfter: new Date(Date.now() + to * DAY_MS),
  // Clients that trust several look for the signer by its name.
  subject: name,
  signingAlgorithm: ALGORITHM,
});

async function pairOf(made: x509.X509Certificate, { privateKey }: CryptoKeyPair): Promise<CertificatePair> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', privateKey as unknown as webcrypto.CryptoKey);
  return { certificate: made.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}

/** A certificate of this machine that signs itself. Times are days from now. */
export async function makeCertificate(times: { from?: number; to?: number } = {}): Promise<CertificatePair> {
  const keys = await makeKeys();
  const { subject, ...rest } = fields(`CN=${randomUUID()}`, times);
  const extensions = [new x509.SubjectAlternativeNameExtension(NAMES)];
  return pairOf(
    await x509.X509CertificateGenerator.createSelfSigned({ ...rest, name: subject, keys, extensions }),
    keys,
  );
}

/** An authority that nobody knows yet. */
export async function makeAuthority(): Promise<Authority> {
  const keys = await makeKeys();
  const issuer = `CN=${randomUUID()}`;
  const { subject, ...rest } = fields(issuer);
  const extensions = [new x509.BasicConstraintsExtension(true, 0, true)];
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...rest,
    name: subject,
    keys,
    extensions,
  });
  return {
    certificate: own.toString('pem'),
    async issue(names = NAMES) {
      const issued = await makeKeys();
      const made = await x509.X509CertificateGenerator.create({
        ...fields(`CN=${randomUUID()}`),
        issuer,
        publicKey: issued.publicKey,
        signingKey: keys.privateKey,
        extensions: [new x509.SubjectAlternativeNameExtension(names)],
      });
      return pairOf(made, issued);
    },
  };
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

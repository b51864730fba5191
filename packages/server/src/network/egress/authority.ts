import { randomBytes, webcrypto } from 'node:crypto';
import type { EgressAuthority } from '@svc/egress';
import {
  openSetting,
  SETTINGS,
  type SettingPorts,
  writeSetting,
} from '../../storage/keys/encrypted-setting.js';

const YEARS = 10;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/**
 * The certificate authority that signs for intercepted hosts. It is made once, lies encrypted in the database, and every
 * server on it has the same. Sandboxes with rules trust it, nobody else does.
 */
export async function loadAuthority(ports: SettingPorts & { now(): number }): Promise<EgressAuthority> {
  for (;;) {
    const { value, version } = await openSetting<EgressAuthority>(ports, SETTINGS.egressAuthority);
    if (value !== undefined) return value;
    // When two servers start at once, one of them writes and both read it.
    await writeSetting(ports, SETTINGS.egressAuthority, await makeAuthority(ports.now()), version);
  }
}

/** @param nowMs ms since the epoch. */
export async function makeAuthority(nowMs: number): Promise<EgressAuthority> {
  // Not many servers make one, and none twice: the library is loaded for it alone.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as Crypto);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(16).toString('hex').replace(/^./, '1'),
    // A name of its own: programs find authorities by it.
    name: `O=svc, CN=svc egress authority ${randomBytes(4).toString('hex')}`,
    notBefore: new Date(nowMs - 86_400_000),
    notAfter: new Date(nowMs + YEARS * 365 * 86_400_000),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const lines = pkcs8.replaceAll(/.{64}/g, '$&\n').trimEnd();
  return {
    certificate: `${certificate.toString('pem')}\n`,
    privateKey: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
  };
}

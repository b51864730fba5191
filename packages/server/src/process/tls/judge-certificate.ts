import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

/** The server has no certificate that it could show: a sentence for the operator. Never quotes the key. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

export interface CertificatePair {
  /** PEM: the server's own certificate first, then those that signed it. */
  certificate: string;
  /** PEM. */
  key: string;
}

const DAY_MS = 86_400_000;
/** Time before its expiry when a certificate causes a warning. ACME clients renew a month before. */
const SOON_MS = 14 * DAY_MS;

/**
 * Looks at a certificate and its key before clients do.
 * @returns what the operator should know: a sentence, when it ends soon
 * @throws {CertificateError} for what no client would take, or no server could use
 */
export function judgeCertificate({ certificate, key }: CertificatePair, nowMs: number): string | undefined {
  const own = readCertificate(certificate);
  if (!own.checkPrivateKey(readKey(key)))
    throw new CertificateError(
      'tls.key is not the key of tls.certificate: both must come from the same request, and the first certificate of the file must be the one of this server',
    );
  const from = Date.parse(own.validFrom);
  const to = Date.parse(own.validTo);
  if (nowMs > to)
    throw new CertificateError(`the certificate (tls.certificate) ended on ${own.validTo}: renew it`);
  if (nowMs < from)
    throw new CertificateError(
      `the certificate (tls.certificate) is valid from ${own.validFrom} on only: look at the clock of this machine`,
    );
  if (to - nowMs > SOON_MS) return undefined;
  return `The certificate ends on ${own.validTo}: renew it.`;
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new CertificateError(
      'tls.certificate holds no certificate in PEM ("-----BEGIN CERTIFICATE-----")',
      {
        cause,
      },
    );
  }
}

function readKey(pem: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    throw new CertificateError(
      'the key (tls.key) is encrypted with a passphrase: store it without one (openssl pkey -in KEY -out NEW)',
    );
  try {
    return createPrivateKey(pem);
  } catch {
    // Its cause could hold a part of the key.
    throw new CertificateError('tls.key holds no private key in PEM ("-----BEGIN PRIVATE KEY-----")');
  }
}

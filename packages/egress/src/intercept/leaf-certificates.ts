import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import {
  AuthorityKeyIdentifierExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { EgressAuthority } from '../control/types.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
/** Clocks of sandboxes that were restored may be behind for a moment. */
const BACKDATED_MS = DAY_MS;
const VALID_MS = 7 * DAY_MS;
const REUSED_MS = 5 * DAY_MS;
const MAX_CACHED = 1_000;

/** Certificates for the hosts that are intercepted, signed by the authority that sandboxes trust. */
export class LeafCertificates {
  readonly #issuer: X509Certificate;
  readonly #issuerPem: string;
  readonly #issuerKey: Promise<CryptoKey>;
  /** One key for all hosts: it never leaves this process. */
  readonly #keys: Promise<CryptoKeyPair>;
  readonly #now: () => number;
  /** In the order of their use. */
  readonly #cached = new Map<string, { context: Promise<SecureContext>; until: number }>();

  /** @throws {TypeError} when the authority cannot be read */
  constructor({ certificate, privateKey }: EgressAuthority, now: () => number = Date.now) {
    cryptoProvider.set(webcrypto as Crypto);
    this.#now = now;
    this.#issuerPem = certificate;
    try {
      this.#issuer = new X509Certificate(certificate);
      this.#issuerKey = importKey(PemConverter.decodeFirst(privateKey));
    } catch {
      throw new TypeError('the certificate authority cannot be read');
    }
    this.#keys = webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<CryptoKeyPair>;
    // Heard by the signing code.
    this.#issuerKey.catch(() => undefined);
  }

  /** Returns the context of a TLS server that stands for the host. @throws {Error} when the authority's key cannot sign */
  contextFor(host: string): Promise<SecureContext> {
    const known = this.#cached.get(host);
    this.#cached.delete(host);
    const fresh = known !== undefined && known.until > this.#now();
    const entry = fresh ? known : { context: this.#make(host), until: this.#now() + REUSED_MS };
    this.#cached.set(host, entry);
    if (this.#cached.size > MAX_CACHED) this.#cached.delete(this.#cached.keys().next().value!);
    entry.context.catch(() => this.#cached.delete(host));
    return entry.context;
  }

  async #make(host: string): Promise<SecureContext> {
    const { publicKey, privateKey } = await this.#keys;
    const certificate = await X509CertificateGenerator.create({
      serialNumber: randomBytes(16).toString('hex').replace(/^./, '1'),
      // The name stands in the extension; the older field has room for 64 letters alone.
      subject: host.length <= 64 ? `CN=${host}` : 'CN=svc egress',
      issuer: this.#issuer.subjectName,
      notBefore: new Date(this.#now() - BACKDATED_MS),
      notAfter: new Date(this.#now() + VALID_MS),
      publicKey,
      signingKey: await this.#issuerKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new SubjectAlternativeNameExtension([{ type: 'dns', value: host }], host.length > 64),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        await AuthorityKeyIdentifierExtension.create(this.#issuer.publicKey),
      ],
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey));
    return createSecureContext({
      cert: `${certificate.toString('pem')}\n${this.#issuerPem}`,
      key: PemConverter.encode(key, 'PRIVATE KEY'),
    });
  }
}

function importKey(pkcs8: ArrayBuffer): Promise<CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']) as Promise<CryptoKey>;
}

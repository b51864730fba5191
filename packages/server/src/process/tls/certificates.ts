import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { resolve } from 'node:path';
import type { TlsOptions } from 'node:tls';
import type { Log } from '../../api/context/context.js';
import { repeat } from '../../api/context/repeat.js';
import { CertificateError, type CertificatePair, judgeCertificate } from './judge-certificate.js';
import { type CertificateFiles, readPair, stateOf } from './read-pair.js';

/** Interval of checks of the files, ms. */
const LOOK_MS = 10_000;
/** Time limit for the handshake of a client, ms. */
const HANDSHAKE_MS = 10_000;

export interface CertificatesOptions {
  files: CertificateFiles;
  log: Log;
  now: () => number;
  /** Default 10,000. */
  lookMs?: number;
}

/** The certificate that listeners show, which may be replaced while they listen. */
export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #servers = new Set<Pick<HttpsServer, 'setSecureContext'>>();
  readonly #stopLooking: () => Promise<void>;
  #pair: CertificatePair;
  /** State of the files that were taken last, or refused. */
  #state: string;
  #reloading: Promise<void> = Promise.resolve();

  private constructor(options: CertificatesOptions, pair: CertificatePair & { state: string }) {
    this.#options = options;
    this.#pair = pair;
    this.#state = pair.state;
    this.#stopLooking = repeat(
      options.lookMs ?? LOOK_MS,
      async () => {
        if ((await stateOf(options.files)) !== this.#state) await this.reload();
      },
      // One of the files may be missing between two steps of a renewal.
      () => undefined,
    );
  }

  /** @throws {CertificateError} */
  static async open(options: CertificatesOptions): Promise<Certificates> {
    const pair = await readPair(options.files);
    const remark = judgeCertificate(pair, options.now());
    if (remark !== undefined) options.log.warn({ file: options.files.certificate }, remark);
    return new Certificates(options, pair);
  }

  /** Options of a server that shows it. */
  get options(): Pick<TlsOptions, 'cert' | 'key' | 'handshakeTimeout'> {
    return { ...this.#context, handshakeTimeout: HANDSHAKE_MS };
  }

  /** Has a server that was made with {@link options} show later certificates too. */
  follow(server: HttpServer): void {
    this.#servers.add(server as unknown as HttpsServer);
  }

  /**
   * Reads the files again. New connections get the new certificate, open ones continue; with unusable files
   * everything stays as it was, and the log says why. Never rejects.
   */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#reload());
    return this.#reloading;
  }

  close(): Promise<void> {
    return this.#stopLooking();
  }

  async #reload(): Promise<void> {
    const { files, log, now } = this.#options;
    const file = files.certificate;
    try {
      const { state, ...pair } = await readPair(files);
      this.#state = state;
      const remark = judgeCertificate(pair, now());
      this.#pair = pair;
      for (const server of this.#servers) server.setSecureContext(this.#context);
      log.info({ file }, 'the certificate was read again');
      if (remark !== undefined) log.warn({ file }, remark);
    } catch (error) {
      log.error({ err: error, file }, 'the new certificate is not usable: the current one stays in use');
    }
  }

  get #context() {
    return { cert: this.#pair.certificate, key: this.#pair.key };
  }
}

/**
 * The certificate that settings name; undefined for listeners without encryption.
 * @throws {CertificateError}
 */
export async function openCertificates(
  { certificate, key }: Partial<CertificateFiles>,
  options: Omit<CertificatesOptions, 'files'>,
): Promise<Certificates | undefined> {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined)
    throw new CertificateError(
      `tls.certificate and tls.key belong together: ${key === undefined ? 'tls.key' : 'tls.certificate'} is missing`,
    );
  return Certificates.open({ ...options, files: { certificate: resolve(certificate), key: resolve(key) } });
}

import type { ClientCore } from '../calls/client-core.js';
import { directUrl } from '../config/addresses.js';
import { daemonPort } from '../daemon/daemon-connection.js';
import type { DaemonTarget } from '../daemon/target.js';
import { InvalidRequestError } from '../errors/answer-errors.js';

/** Options for signing a link to a private port. */
export interface PreviewLinkOptions {
  /** Time that the link works, ms from now by this machine's clock, rounded up to whole seconds. */
  expiresInMs: number;
  /** Path and query that it opens first; it opens the whole port. Default `/`. */
  path?: string | undefined;
}

const operation = 'sandbox.url';
const parameter = 'svc_preview';

/** Makes the address of a private port that works without a header until it expires. */
export async function previewLink(
  core: ClientCore,
  { sandboxId, trafficToken, domain }: DaemonTarget,
  port: number,
  { expiresInMs, path = '/' }: PreviewLinkOptions,
): Promise<string> {
  const refuse = (message: string) => new InvalidRequestError(`${operation}: ${message}`, { operation });
  if (!(expiresInMs > 0 && expiresInMs < 1e14)) {
    throw refuse(`expiresInMs must be a number of milliseconds above 0, got ${expiresInMs}.`);
  }
  if (!/^\/(?![/\\])/.test(path)) throw refuse(`path must begin with one "/", got ${JSON.stringify(path)}.`);
  if (port === daemonPort) throw refuse(`links open no daemon, and port ${daemonPort} is its own.`);
  if (trafficToken === undefined) {
    throw refuse(
      'the ports of this sandbox are public, so that a link cannot expire. Create it with network: { allowPublicTraffic: false }, or leave out `signed`.',
    );
  }
  const expiry = Math.ceil((Date.now() + expiresInMs) / 1000);
  const value = `v1.${expiry}.${await sign(trafficToken, `v1\n${sandboxId}\n${port}\n${expiry}`)}`;
  const url = new URL(path, directUrl(core.config, { sandboxId, domain }, port));
  url.search = `${url.search === '' ? '?' : `${url.search}&`}${parameter}=${value}`;
  return url.href;
}

/** HMAC-SHA-256 as base64url. */
async function sign(key: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)));
  const base64 = btoa(String.fromCharCode(...mac));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
